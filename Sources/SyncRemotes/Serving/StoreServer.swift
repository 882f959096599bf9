import SyncMerge

/// The server side of an `ssh:` remote: answers the requests of one client until it disconnects.
///
/// While it works on an answer it sends a frame each ``workingInterval``, so that the client can
/// tell a large merge from a dead connection.
package struct StoreServer<Local: Replica>: Sendable {
    /// How long to wait for the next request.
    private static var idleMax: Duration { .seconds(600) }
    /// How long to wait for the client to read an answer.
    private static var sendMax: Duration { .seconds(120) }
    /// How often a `working` frame is sent.
    private static var workingInterval: Duration { .seconds(2) }

    private let remote: ReplicaRemote<Local>
    private let store: StoreID
    private let replica: ReplicaID
    private let isReadOnly: Bool

    /// Serves a replica.
    /// - Parameter isReadOnly: whether batches and acknowledgements of the client are refused.
    /// - Throws: what the replica throws.
    package init(_ replica: Local, isReadOnly: Bool = false) async throws {
        remote = ReplicaRemote(replica)
        store = try await replica.store
        self.replica = try await replica.replicaID
        self.isReadOnly = isReadOnly
    }

    /// Sends the greeting, then answers until the client disconnects or a wait times out.
    package func run(input: Int32, output: Int32) async {
        let line = ServerLine(FrameChannel(input: input, output: output))
        do {
            try await line.greet(.hello(store, replica))
            while true {
                let request = try await line.next(timeout: Self.idleMax)
                let answer = try await reportingWork(on: line) { await self.answer(request) }
                try await line.send(answer, timeout: Self.sendMax)
            }
        } catch {
            // The client has disconnected: there is nobody to report to.
        }
    }

    private func answer(_ body: [UInt8]) async -> ServeAnswer {
        do {
            switch try ServeRequest(body) {
            case .catalog(let since): return .catalog(try await remote.catalog(since: since))
            case .head: return .vector(try await remote.head())
            case .fetch(let name): return .bytes(try await remote.batch(named: name))
            case .append(let batch):
                try requireWriting()
                try await remote.append(batch)
                return .done
            case .acknowledge(let replica, let vector):
                // Kept in the store, and what it collects depends on it. The client's pull goes on.
                try requireWriting()
                try await remote.acknowledge(vector, of: replica)
                return .done
            case .noteSums(let replica, let sums):
                try requireWriting()
                try await remote.noteSums(sums, of: replica)
                return .done
            case .notedSums: return .sums(try await remote.notedSums())
            case .acknowledged: return .acknowledged(try await remote.acknowledged())
            }
        } catch let error as SyncError {
            return .failure(error)
        } catch {
            return .failure(SyncError(.internalFault, "\(error)"))
        }
    }

    private func requireWriting() throws {
        guard isReadOnly else { return }
        throw SyncError(
            .notAllowed, "the remote store is served read-only",
            hint: "Only pull from it: synctool pull DB")
    }

    private func reportingWork(
        on line: ServerLine, _ work: @escaping @Sendable () async -> ServeAnswer
    ) async throws -> ServeAnswer {
        let ticking = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.workingInterval)
                try await line.send(.working, timeout: Self.sendMax)
            }
        }
        let answer = await work()
        ticking.cancel()
        // Its last frame must not follow the answer.
        _ = await ticking.result
        return answer
    }
}
