import Dispatch
import SyncMerge
import Synchronization

/// The client side of `synctool serve --stdio`: starts a command that connects to it, waits for the
/// greeting, sends requests.
///
/// One connection: the first failure ends it, and the command with it. Blocking calls run on
/// `queue`, one request at a time.
final class ServeClient: Sendable {
    /// How long to wait.
    struct Timeouts: Sendable, Hashable {
        /// For the whole greeting: ssh connects, unlocks a key and starts a shell.
        var greeting: Duration = .seconds(45)
        /// For the next byte of an answer; a working server sends a frame every two seconds.
        var answer: Duration = .seconds(30)
        /// How long a server may say in one connection that it is still working: the first
        /// statement of a very large store takes minutes.
        var working: Duration = .seconds(3600)
    }

    private let process: SpawnedProcess
    private let channel: FrameChannel
    private let timeouts: Timeouts
    private let failure: @Sendable (SpawnedProcess.End, String?) -> SyncError
    private let queue = DispatchQueue(label: "syncd.remote")
    /// How long the server has been working.
    private let worked = Mutex(Duration.zero)

    /// Starts the command.
    /// - Parameter failure: makes an error from how the command ended and its last message.
    /// - Throws: `unreachable` when the command cannot be started.
    init(
        _ command: [String], timeouts: Timeouts,
        failure: @escaping @Sendable (SpawnedProcess.End, String?) -> SyncError
    ) throws {
        process = try SpawnedProcess(command)
        channel = FrameChannel(
            input: process.output, output: process.input, messages: process.errors)
        self.timeouts = timeouts
        self.failure = failure
    }

    /// Waits for the greeting; skips what a shell prints before it.
    /// - Throws: `unreachable`; `newerFormat` for another version of the protocol; `badData`;
    ///   ``PeerFailure``.
    func greeting() async throws -> (store: StoreID, replica: ReplicaID) {
        let answer = try await perform { [self] in
            var length = 0
            let end = ContinuousClock.now + timeouts.greeting
            while true {
                let limit = ServeGreeting.bannerBytesMax - length
                let line = try channel.line(limit: limit, by: end, timeout: timeouts.greeting)
                length += line.count + 1
                guard let version = ServeGreeting.version(in: line) else { continue }
                guard version == ServeGreeting.version else {
                    throw SyncError(
                        .newerFormat,
                        "the remote synctool uses version \(version) of the protocol, "
                            + "this one \(ServeGreeting.version)",
                        hint: "Install the same version of syncd on both machines")
                }
                return try nextAnswer()
            }
        }
        guard case .hello(let store, let replica) = answer else { throw Self.unexpected }
        return (store, replica)
    }

    /// Sends a request and waits for the answer.
    /// - Throws: ``PeerFailure``; `unreachable` when it does not answer.
    func ask(_ request: ServeRequest) async throws -> ServeAnswer {
        try await perform { [self] in
            try channel.write(request.encoded(), timeout: timeouts.answer)
            return try nextAnswer()
        }
    }

    static var unexpected: SyncError {
        SyncError(
            .badData, "the remote synctool sent an answer of the wrong kind",
            hint: "Install the same version of syncd on both machines")
    }

    /// Ends the connection: the server sees the end of its input.
    func close() { process.close() }

    private func nextAnswer() throws -> ServeAnswer {
        while true {
            let start = ContinuousClock.now
            switch try ServeAnswer(channel.read(timeout: timeouts.answer)) {
            case .working:
                let sum = worked.withLock { worked in
                    worked += ContinuousClock.now - start
                    return worked
                }
                guard sum <= timeouts.working else {
                    throw FrameChannel.Failure.unfinished(sum)
                }
            case .failure(let error): throw PeerFailure(error: error)
            case let answer: return answer
            }
        }
    }

    /// An error that the server reported, in contrast to a failure of the connection.
    struct PeerFailure: Error { let error: SyncError }

    private func perform(
        _ body: @escaping @Sendable () throws -> ServeAnswer
    ) async throws -> ServeAnswer {
        try await withTaskCancellationHandler {
            try await queue.run { [self] in
                do {
                    return try body()
                } catch let failure as PeerFailure {
                    throw failure
                } catch FrameChannel.Failure.ended {
                    throw failure(process.end(draining: channel), channel.tail.lastLine)
                } catch FrameChannel.Failure.timedOut(let timeout) {
                    process.close()
                    throw failure(.timedOut(timeout), channel.tail.lastLine)
                } catch FrameChannel.Failure.unfinished(let time) {
                    process.close()
                    throw failure(.unfinished(time), channel.tail.lastLine)
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
