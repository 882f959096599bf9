import Dispatch
import Glibc
import SyncMerge
import Synchronization

/// The far side of an `ssh:` remote: answers the frames of one near side until it goes away.
///
/// While an answer is being made, the near side hears each ``workingInterval`` that somebody is at
/// work: it can tell a large merge from a dead connection.
package struct StoreServer<Local: Replica>: Sendable {
    /// How long the near side may be silent: it asks again and again, or goes away.
    private static var idleMax: Duration { .seconds(600) }
    /// How long the near side may not read what it asked for.
    private static var sendMax: Duration { .seconds(120) }
    /// How often it hears that the answer is being made.
    private static var workingInterval: Duration { .seconds(2) }

    private let remote: ReplicaRemote<Local>
    private let store: StoreID
    private let replica: ReplicaID
    private let isReadOnly: Bool

    /// Serves a replica.
    /// - Parameter isReadOnly: whether batches of the near side are refused.
    package init(_ replica: Local, isReadOnly: Bool = false) async throws {
        remote = ReplicaRemote(replica)
        store = try await replica.store
        self.replica = try await replica.replicaID
        self.isReadOnly = isReadOnly
    }

    /// Greets, and answers until the near side closes or is silent for too long.
    package func run(input: Int32, output: Int32) async {
        let line = Line(FrameChannel(input: input, output: output))
        do {
            try await line.greet(.hello(store, replica))
            while let request = try await line.next(Self.idleMax) {
                let answer = try await working(line) { await self.answer(request) }
                try await line.send(answer, Self.sendMax)
            }
        } catch {
            // The near side is gone: there is nobody to tell.
        }
    }

    private func answer(_ body: [UInt8]) async -> ServeAnswer {
        do {
            switch try ServeRequest(body) {
            case .catalog(let since): return .catalog(try await remote.catalog(since: since))
            case .head: return .vector(try await remote.head())
            case .fetch(let name): return .bytes(try await remote.batch(named: name))
            case .append(let batch):
                guard !isReadOnly else {
                    throw SyncError(
                        .notAllowed, "the store on the other side is served for reading alone",
                        hint: "Run: synctool pull DB")
                }
                try await remote.append(batch)
                return .done
            case .acknowledge(let replica, let vector):
                try await remote.acknowledge(vector, of: replica)
                return .done
            case .acknowledged: return .acknowledged(try await remote.acknowledged())
            }
        } catch let error as SyncError {
            return .failure(error)
        } catch {
            return .failure(SyncError(.internalFault, "\(error)"))
        }
    }

    private func working(
        _ line: Line, _ work: @escaping @Sendable () async -> ServeAnswer
    ) async throws -> ServeAnswer {
        let ticking = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.workingInterval)
                try await line.send(.working, Self.sendMax)
            }
        }
        let answer = await work()
        ticking.cancel()
        // Its last word must not come after the answer.
        _ = await ticking.result
        return answer
    }
}

/// The descriptors of one near side; what blocks on them does so on threads of its own.
private struct Line: Sendable {
    private let channel: FrameChannel
    private let reading = DispatchQueue(label: "syncd.serve.reading")
    private let writing = DispatchQueue(label: "syncd.serve.writing")

    init(_ channel: FrameChannel) { self.channel = channel }

    func greet(_ answer: ServeAnswer) async throws {
        try await writing.run { [channel] in
            try channel.send(ServeGreeting.line, .seconds(60))
            try channel.write(answer.encoded(), patience: .seconds(60))
        }
    }

    /// The next request; nil when there will be none.
    func next(_ patience: Duration) async throws -> [UInt8]? {
        try await reading.run { [channel] in try channel.read(patience: patience) }
    }

    func send(_ answer: ServeAnswer, _ patience: Duration) async throws {
        try await writing.run { [channel] in
            try channel.write(answer.encoded(), patience: patience)
        }
    }
}

extension DispatchQueue {
    /// Runs what blocks, off the threads that async functions share.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}

/// The far side where there is no store to serve: says why.
package enum StoreRefusal {
    /// Greets, and tells the error.
    package static func tell(_ error: SyncError, input: Int32, output: Int32) async {
        let line = Line(FrameChannel(input: input, output: output))
        try? await line.greet(.failure(error))
    }
}
