import Foundation

@testable import SyncCore

/// A process that is asked on its stdin and answers on its stdout. Ends with this object.
final class DialogueProcess {
    struct NoAnswer: Error, CustomStringConvertible {
        var description: String
    }

    private static let answerSecondsMax = 60.0
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread: [UInt8] = []

    init(_ name: String, _ arguments: [String]) throws {
        // A process that died is an error to report, no reason to die as well.
        signal(SIGPIPE, SIG_IGN)
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// Sends `text` and reads up to the line `end`.
    func ask(_ text: String, until end: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        let limit = Date(timeIntervalSinceNow: Self.answerSecondsMax)
        while try line(before: limit) != end {}
    }

    private func line(before limit: Date) throws -> String {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeFirst(end + 1) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let left = limit.timeIntervalSinceNow
            let descriptor = output.fileHandleForReading.fileDescriptor
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&event, 1, Int32(left * 1000)) > 0 else {
                throw NoAnswer(description: "\(process.arguments ?? []) does not answer")
            }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else {
                throw NoAnswer(description: "\(process.arguments ?? []) ended")
            }
            unread += buffer[..<count]
        }
    }
}
