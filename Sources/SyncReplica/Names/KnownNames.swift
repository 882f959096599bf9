import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The names of the replicas of a store, as this replica knows them.
///
/// Names are for people; two replicas may have the same one, and are shown with the beginnings of
/// their identifiers then. A name has no character that a terminal obeys.
public struct KnownNames: Sendable, Hashable {
    /// The name of each replica that has one.
    public let names: [ReplicaID: String]
    private let shared: Set<String>

    /// - Parameter names: the name of each replica that has one.
    public init(_ names: [ReplicaID: String] = [:]) {
        self.names = names
        let folded = Dictionary(grouping: names.values.map { $0.lowercased() }) { $0 }
        shared = Set(folded.filter { $0.value.count > 1 }.keys)
    }

    /// The name of a replica; nil when it is not known.
    public subscript(replica: ReplicaID) -> String? { names[replica] }

    /// What people see of a replica: its name, with the first 8 digits of its identifier where
    /// another replica has the same name; the digits alone where no name is known.
    public func title(of replica: ReplicaID) -> String {
        let digits = String(replica.description.prefix(8))
        guard let name = names[replica] else { return digits }
        return shared.contains(name.lowercased()) ? "\(name) (\(digits))" : name
    }

    /// A text with the name of each replica before its identifier: `kiosk (1150bdc2…)`.
    /// - Complexity: O(text · names)
    public func naming(_ text: String) -> String {
        var text = text
        for (replica, name) in names {
            text.replace(replica.description, with: "\(name) (\(replica))")
        }
        return text
    }

    /// The replica that a person means: by its name, its identifier or the first digits of that.
    /// - Parameters:
    ///   - text: the name or the digits, at least 4.
    ///   - replicas: those that may be meant.
    /// - Throws: `unknownObject` when none is meant, `invalidArgument` when several are.
    public func replica(
        _ text: String, among replicas: some Sequence<ReplicaID>
    ) throws -> ReplicaID {
        let all = Set(replicas)
        let named = all.filter { names[$0]?.lowercased() == text.lowercased() }
        let isLong = text.count >= 4
        let numbered = all.filter { isLong && $0.description.hasPrefix(text.lowercased()) }
        let found = named.union(numbered)
        if found.count == 1, let replica = found.first { return replica }
        let several = found.map(\.description).sorted().joined(separator: ", ")
        throw SyncError(
            found.isEmpty ? .unknownObject : .invalidArgument,
            found.isEmpty
                ? "no replica '\(text.printable(countMax: 80))' is known here"
                : "'\(text.printable(countMax: 80))' names several replicas: \(several)",
            hint: SimilarName.question(text, among: all.compactMap { names[$0] })
                + "The known ones are listed by: synctool remote members DB")
    }
}

extension Store {
    /// The names of the replicas of the store.
    /// - Throws: ``SyncError``: SQLite errors.
    package func replicaNames() throws -> KnownNames {
        try explaining("names") {
            try reading.read { try KnownNames.read($0.connection) }
        }
    }

    /// The same of a file.
    /// - Throws: as ``Store/open(_:)`` and ``replicaNames()``.
    package static func replicaNames(_ path: String) throws -> KnownNames {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.replicaNames()
    }
}

extension KnownNames {
    /// Empty in a store without the table, which is that of an earlier version.
    static func read(_ connection: OpaquePointer) throws -> KnownNames {
        guard try SchemaReader.hasTable("syncd_replica_name", on: connection) else {
            return KnownNames()
        }
        return KnownNames(try ReplicaNameStorage(connection).all().mapValues(\.name.text))
    }
}
