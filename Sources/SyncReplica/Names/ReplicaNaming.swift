import CSQLite
import Foundation
import SyncMerge
import SyncValues

/// Gives this replica a name, and adopts those that other replicas gave themselves.
///
/// Rules
/// - The default is the name of the machine; where another replica of the store has it, that and
///   the name of the file. It is chosen once, when the replica begins to sign.
/// - A replica names itself alone: the name of another one is adopted with its signature. Of two
///   names the later one is in force.
struct ReplicaNaming {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var own: ReplicaID { transaction.identity.replica }

    /// Chooses a name for this replica if it has none, and signs it.
    /// - Parameter key: of this replica.
    /// - Throws: as every method here: SQLite errors.
    func ensureOwn(signing key: SigningKey?) throws {
        let all = try storage.replicaNames.all()
        var entry: ReplicaNameStorage.Entry
        if let known = all[own] {
            if known.signature != nil || key == nil { return }
            entry = known
        } else {
            let taken = all.values.map(\.name.text)
            guard let name = Self.standard(file: fileName, besides: taken) else { return }
            entry = ReplicaNameStorage.Entry(
                replica: own, name: name, revision: transaction.environment.wall(), signature: nil)
        }
        if let key { entry = try signed(entry, with: key) }
        try storage.replicaNames.write(entry)
    }

    /// Gives this replica another name.
    func rename(to name: ReplicaName) throws {
        let former = try storage.replicaNames.all()[own]
        let next = former.map { $0.revision < .max ? $0.revision + 1 : .max } ?? 0
        var entry = ReplicaNameStorage.Entry(
            replica: own, name: name, revision: max(transaction.environment.wall(), next),
            signature: nil)
        if let key = try storage.signers.all()[own]?.secret {
            entry = try signed(entry, with: key)
        }
        try storage.replicaNames.write(entry)
    }

    /// Adopts the names of a batch.
    /// - Complexity: O(names), and some 100 µs for each that is new.
    func adopt(_ names: [ReplicaID: SignedName]) throws {
        guard !names.isEmpty else { return }
        let known = try storage.replicaNames.all()
        let signers = try storage.signers.all()
        for (replica, name) in names.sorted(by: { $0.key < $1.key }) where replica != own {
            if let former = known[replica],
                (former.revision, former.name.text) >= (name.revision, name.name.text)
            {
                continue
            }
            guard let key = signers[replica]?.key,
                name.isSigned(store: transaction.identity.store, replica: replica, by: key)
            else { continue }
            try storage.replicaNames.write(
                .init(
                    replica: replica, name: name.name, revision: name.revision,
                    signature: name.signature))
        }
    }

    /// The new identity of a file takes the name of the former one, and a number.
    /// - Throws: SQLite errors.
    static func renew(_ old: ReplicaID, as new: ReplicaID, in storage: ReplicaStorage) throws {
        let all = try storage.replicaNames.all()
        guard let former = all[old] else { return }
        let taken = Set(all.values.map { $0.name.text.lowercased() })
        let candidates = (2...taken.count + 2).lazy.compactMap {
            ReplicaName("\(former.name.text)-\($0)")
        }
        guard let name = candidates.first(where: { !taken.contains($0.text.lowercased()) })
        else { return }
        try storage.replicaNames.write(
            .init(replica: new, name: name, revision: former.revision, signature: nil))
    }

    private func signed(
        _ entry: ReplicaNameStorage.Entry, with key: SigningKey
    ) throws -> ReplicaNameStorage.Entry {
        let signed = try SignedName(
            entry.name, revision: entry.revision, store: transaction.identity.store, replica: own,
            with: key)
        return .init(
            replica: own, name: entry.name, revision: entry.revision, signature: signed.signature)
    }

    // MARK: Defaults

    /// The name of the file, without what a clone appends until it is complete.
    private var fileName: String {
        guard let path = sqlite3_db_filename(transaction.connection, "main") else { return "" }
        var name = (String(cString: path) as NSString).lastPathComponent
        for ending in [".syncd-clone", ".syncd-part"] where name.hasSuffix(ending) {
            name.removeLast(ending.count)
        }
        return name
    }

    /// The name of this machine; with the name of the file where that is taken.
    static func standard(file: String, besides taken: [String]) -> ReplicaName? {
        let folded = Set(taken.map { $0.lowercased() })
        let host = host()
        let choices = [host, "\(host):\(file)", file].compactMap(ReplicaName.init)
        return choices.first { !folded.contains($0.text.lowercased()) } ?? choices.first
    }

    /// The first label of the machine's name.
    private static func host() -> String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "" }
        let name = String(
            decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return String(name.prefix { $0 != "." })
    }
}
