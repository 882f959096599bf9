import Foundation
import SyncCore
import SyncObjects

/// Threads and processes that do random things to the same objects, and a comparison at the end:
/// every context must show what the store has.
///
///     objectstress PATH [--seconds N] [--processes N] [--threads N] [--seed N]
///
/// `--threads` is for each process. The first process makes the store and starts the others. Ends
/// with 1 and the differences when there are any; a data race or a crash ends it in its own way.
@main
enum Main {
    struct Options {
        var path = ""
        var seconds = 5.0
        var processes = 4
        var threads = 6
        var seed = UInt64.random(in: 0 ... .max)
        /// Started by another one: waits for its word before it compares.
        var isWorker = false
    }

    static func main() async throws {
        guard let options = parse() else {
            print("usage: objectstress PATH [--seconds N] [--processes N] [--threads N] [--seed N]")
            exit(64)
        }
        if !options.isWorker { try Stress.prepare(options.path) }
        let others = try options.isWorker ? [] : start(options)
        let stress = try Stress(options.path)
        stress.run(seconds: options.seconds, threads: options.threads, seed: options.seed)
        if options.isWorker {
            FileHandle.standardOutput.write(Data("done\n".utf8))
            _ = readLine()
        } else {
            for other in others { other.waitUntilDone() }
            for other in others { other.letCompare() }
        }
        var problems = stress.differences()
        print(stress.summary)
        for other in others where other.status() != 0 {
            problems.append("a process ended with \(other.status())")
        }
        for problem in problems.prefix(20) { print(problem) }
        if !problems.isEmpty {
            print("seed \(options.seed)")
            exit(1)
        }
    }

    private static func parse() -> Options? {
        var options = Options()
        var arguments = CommandLine.arguments.dropFirst()
        guard let path = arguments.popFirst() else { return nil }
        options.path = path
        while let name = arguments.popFirst() {
            if name == "--worker" {
                options.isWorker = true
                continue
            }
            guard let text = arguments.popFirst() else { return nil }
            switch name {
            case "--seconds": options.seconds = Double(text) ?? 5
            case "--processes": options.processes = Int(text) ?? 4
            case "--threads": options.threads = Int(text) ?? 6
            case "--seed": options.seed = UInt64(text) ?? 0
            default: return nil
            }
        }
        return options
    }

    private static func start(_ options: Options) throws -> [Worker] {
        try (1..<max(1, options.processes)).map { number in
            try Worker([
                options.path, "--worker", "--seconds", "\(options.seconds)", "--threads",
                "\(options.threads)", "--seed", "\(options.seed &+ UInt64(number))",
            ])
        }
    }
}

/// Another process of this program.
final class Worker {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// Until it says `done`, or ends.
    func waitUntilDone() {
        var text = ""
        while !text.contains("done") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { return }
            text += String(decoding: data, as: UTF8.self)
        }
    }

    func letCompare() { try? input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

    func status() -> Int32 {
        if let rest = try? output.fileHandleForReading.readToEnd() {
            FileHandle.standardOutput.write(rest)
        }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
