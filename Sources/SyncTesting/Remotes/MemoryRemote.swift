import SyncMerge

/// A remote in memory that fails on request: the model that all remotes are compared with.
package actor MemoryRemote: Remote {
    /// Ways in which a call can go wrong.
    package enum Fault: Sendable, Hashable {
        /// The call fails and has done nothing.
        case before
        /// The call has done its work, but its answer is lost.
        case after
    }

    package nonisolated var keepsBatches: Bool { true }
    private let store: StoreID
    private var batches: [String: [UInt8]] = [:]
    private var acknowledgements: [ReplicaID: VersionVector] = [:]
    private var noted: [ReplicaID: [UInt8]] = [:]
    private var asked: [VersionVector] = []
    private var fault: (call: Int, fault: Fault)?

    /// An empty remote of a store.
    package init(store: StoreID) { self.store = store }

    /// Makes one later call fail; 0 is the next one.
    package func failCall(_ call: Int, with fault: Fault) { self.fault = (call, fault) }

    /// Makes all later calls succeed.
    package func failNoMore() { fault = nil }

    /// Removes a batch, as a disk failure or a user could.
    package func lose(_ name: String) { batches[name] = nil }

    /// Replaces the content of a batch.
    package func damage(_ name: String, with bytes: [UInt8]) { batches[name] = bytes }

    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        try failing { catalog() }
    }

    package func head() async throws -> VersionVector {
        try failing { catalog().reach(since: VersionVector()) }
    }

    package func head(for members: Membership) async throws -> VersionVector {
        try failing { catalog().reach(since: VersionVector(), for: members) }
    }

    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try failing {
            guard let bytes = batches[item.name] else {
                throw SyncError(.unreachable, "the batch no longer exists")
            }
            return bytes
        }
    }

    package func append(_ batch: [UInt8]) async throws {
        try failing {
            guard try BatchDecoder.verify(batch).store == store else {
                throw SyncError(.refused, "the batch belongs to another store")
            }
            if batches.values.contains(batch) { return }
            batches["batch \(batches.count + 1)"] = batch
        }
    }

    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        try failing { acknowledgements[replica] = vector }
    }

    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try failing { acknowledgements }
    }

    package func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {
        try failing { noted[replica] = sums }
    }

    package func notedSums() async throws -> [ReplicaID: [UInt8]] { try failing { noted } }

    /// Requests are not withdrawn: the remote does not know whose they are.
    package func requestSnapshot(covering collected: VersionVector) async throws {
        if !collected.isEmpty, !asked.contains(collected) { asked.append(collected) }
    }

    package func requestedSnapshots() async throws -> [VersionVector] { asked }

    private func catalog() -> BatchCatalog {
        var items: [BatchCatalog.Item] = []
        var problems: [BatchCatalog.Problem] = []
        for (name, bytes) in batches {
            if let (envelope, start) = try? BatchEnvelope.read(bytes),
                bytes.count == start + envelope.payloadBytes
            {
                items.append(.init(name: name, envelope: envelope))
            } else {
                problems.append(.init(name: name, reason: "damaged"))
            }
        }
        return BatchCatalog(items, problems: problems)
    }

    private func failing<Answer>(_ work: () throws -> Answer) throws -> Answer {
        let due = fault?.call == 0 ? fault?.fault : nil
        fault = fault.flatMap { $0.call == 0 ? nil : ($0.call - 1, $0.fault) }
        if due == .before { throw SyncError(.unreachable, "the remote does not answer") }
        let answer = try work()
        if due == .after { throw SyncError(.unreachable, "the remote does not answer") }
        return answer
    }
}
