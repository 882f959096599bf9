import Dispatch
import SyncMerge

/// The descriptors of one client. Blocking calls run on dispatch queues.
struct ServerLine: Sendable {
    private let channel: FrameChannel
    private let reading = DispatchQueue(label: "syncd.serve.reading")
    private let writing = DispatchQueue(label: "syncd.serve.writing")

    init(_ channel: FrameChannel) { self.channel = channel }

    func greet(_ answer: ServeAnswer) async throws {
        try await writing.run { [channel] in
            try channel.send(ServeGreeting.line, timeout: .seconds(60))
            try channel.write(answer.encoded(), timeout: .seconds(60))
        }
    }

    /// The next request.
    func next(timeout: Duration) async throws -> [UInt8] {
        try await reading.run { [channel] in try channel.read(timeout: timeout) }
    }

    func send(_ answer: ServeAnswer, timeout: Duration) async throws {
        try await writing.run { [channel] in
            try channel.write(answer.encoded(), timeout: timeout)
        }
    }
}
