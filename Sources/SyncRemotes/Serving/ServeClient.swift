import Dispatch
import SyncMerge
import Synchronization

/// The near side of `synctool serve --stdio`: starts a command that connects to it, waits for the
/// greeting, asks.
///
/// One conversation; it ends with the first failure, and the command with it. All that blocks runs
/// on `queue`, one request at a time.
final class ServeClient: Sendable {
    /// How long to wait.
    struct Patience: Sendable, Hashable {
        /// For the greeting: a connection has to be made, a key to be asked for, a shell to start.
        var greeting: Duration = .seconds(45)
        /// For the next byte of an answer; the other side says every two seconds that it works.
        var answer: Duration = .seconds(30)
    }

    private let process: SpawnedProcess
    private let channel: FrameChannel
    private let patience: Patience
    private let explain: @Sendable (SpawnedProcess.End, String?) -> SyncError
    private let queue = DispatchQueue(label: "syncd.remote")

    /// Starts the command.
    /// - Parameter explain: makes an error of how the command ended and of its last words.
    /// - Throws: `unreachable` when the command cannot be started.
    init(
        _ command: [String], patience: Patience,
        explain: @escaping @Sendable (SpawnedProcess.End, String?) -> SyncError
    ) throws {
        process = try SpawnedProcess(command)
        channel = FrameChannel(
            input: process.output, output: process.input, messages: process.errors)
        self.patience = patience
        self.explain = explain
    }

    /// Waits for the greeting, whatever a shell says before it.
    func greeting() async throws -> (store: StoreID, replica: ReplicaID) {
        let answer = try await perform { [self] in
            var length = 0
            while true {
                let limit = ServeGreeting.bannerBytesMax - length
                let line = try channel.line(limit: limit, patience: patience.greeting)
                length += line.count + 1
                guard let version = ServeGreeting.version(in: line) else { continue }
                guard version == ServeGreeting.version else {
                    throw SyncError(
                        .newerFormat,
                        "the other side speaks version \(version) of the protocol, this one 1",
                        hint: "Install the same version of syncd on both machines")
                }
                return try nextAnswer()
            }
        }
        guard case .hello(let store, let replica) = answer else { throw Self.unexpected }
        return (store, replica)
    }

    /// Asks, and waits for the answer.
    /// - Throws: what the other side throws; `unreachable` when it does not answer.
    func ask(_ request: ServeRequest) async throws -> ServeAnswer {
        try await perform { [self] in
            try channel.write(request.encoded(), patience: patience.answer)
            return try nextAnswer()
        }
    }

    static var unexpected: SyncError {
        SyncError(.badData, "the other side gave another answer than was asked for")
    }

    /// Ends the conversation: the other side sees that nobody will ask any more.
    func close() { process.close() }

    private func nextAnswer() throws -> ServeAnswer {
        while true {
            switch try ServeAnswer(channel.read(patience: patience.answer)) {
            case .working: continue
            case .failure(let error): throw Told(error: error)
            case let answer: return answer
            }
        }
    }

    /// What the other side said, in contrast to what befell the connection.
    private struct Told: Error { let error: SyncError }

    private func perform(
        _ body: @escaping @Sendable () throws -> ServeAnswer
    ) async throws -> ServeAnswer {
        try await withTaskCancellationHandler {
            try await queue.run { [self] in
                do {
                    return try body()
                } catch let told as Told {
                    throw told.error
                } catch FrameChannel.Failure.ended {
                    throw explain(process.end(draining: channel), channel.tail.lastLine)
                } catch FrameChannel.Failure.timedOut(let patience) {
                    process.close()
                    throw explain(.silent(patience), channel.tail.lastLine)
                } catch {
                    process.close()
                    throw error
                }
            }
        } onCancel: {
            process.kill()
        }
    }
}
