import Dispatch
import Foundation
import SyncObjects

/// A to-do list in the terminal.
///
///     todo [--store file|memory|bundle|copy|mock] [--path FILE]
///
/// Commands come from standard input, one a line; the page is drawn again whenever anybody changes
/// what it shows.
@main
enum Main {
    @MainActor static func main() async throws {
        var store = "file"
        var path = "todo.sqlite"
        var arguments = CommandLine.arguments.dropFirst()
        while let name = arguments.popFirst() {
            guard let value = arguments.popFirst() else { return usage() }
            switch name {
            case "--store": store = value
            case "--path": path = value
            default: return usage()
            }
        }
        let screen: Screen
        if store == "mock" {
            screen = try Screen(.mock)
        } else {
            guard let kind = TodoContainer(rawValue: store) else { return usage() }
            do {
                screen = try Screen(.live, container: kind.open(path))
            } catch {
                FileHandle.standardError.write(Data("todo: \(error)\n".utf8))
                exit(66)
            }
        }
        await run(screen)
    }

    private static func usage() {
        FileHandle.standardError.write(
            Data("usage: todo [--store file|memory|bundle|copy|mock] [--path FILE]\n".utf8))
        exit(64)
    }

    @MainActor private static func run(_ screen: Screen) async {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let draw = {
            if isTerminal { print("\u{1B}[2J\u{1B}[H", terminator: "") }
            for line in screen.lines { print(line) }
            if isTerminal { print("> ", terminator: "") } else { print("--") }
            fflush(nil)
        }
        draw()
        let changes = screen.changes
        let follower = Task { @MainActor in for await _ in changes where isTerminal { draw() } }
        for await line in commands() {
            guard await screen.run(line) else { break }
            draw()
        }
        follower.cancel()
    }

    private static func commands() -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}
