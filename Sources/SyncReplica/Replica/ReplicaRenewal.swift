import SyncCore
import SyncMerge
import SyncValues

/// Gives a file a new replica identifier after it was restored to an earlier state.
///
/// Other replicas may have transactions of the old identifier that the file lost: they are merged
/// as those of another replica. What was written since the restore has the numbers of the lost
/// ones; no other replica has it, so that it can be renamed everywhere. What was sent before keeps
/// its name: others refer to it. `syncd_meta.sent`, which was restored with the file, is the last
/// of these. Transactions that were not yet sent when the backup was made are renamed, too, and may
/// arrive under their old name: their objects have the same identities, and the facts are equal.
struct ReplicaRenewal {
    private let storage: ReplicaStorage
    private let signing: SignedSending
    private let own: ReplicaID
    /// The newest own transaction that keeps its name.
    private let kept: Int64

    /// - Throws: SQLite errors.
    init(_ transaction: MergeTransaction) throws {
        storage = transaction.storage
        signing = SignedSending(transaction)
        own = transaction.identity.replica
        kept = try transaction.newestSent()
    }

    /// Renames the transactions.
    /// - Returns: the new identifier.
    /// - Throws: SQLite errors.
    /// - Complexity: O(facts of the store)
    func run() throws -> ReplicaID {
        if let signer = try storage.signers.all()[own] { try signing.retire(signer, upTo: kept) }
        let new = try Store.becomeNew(
            on: storage.connection, metadata: storage.history.settings)
        try ReplicaNaming.renew(own, as: new, in: storage)
        try renameHeaders(to: new)
        try renameRecords(to: new)
        try renameUnknown(to: new)
        try storage.objects.renameAliases(from: own, to: new, after: kept)
        try storage.conflicts.rename(from: own, to: new, after: kept)
        try renameSchema(to: new)
        // What was computed before names what was renamed.
        try storage.totals.forget()
        try storage.sums.forget()
        // Found at a vector that names what was renamed; the next collection starts again.
        try storage.marks.removeAll()
        // They failed because of the identifier from before.
        try storage.history.settings.set(.exchanges, to: .null)
        return new
    }

    /// What was not sent of the schema is stated by the new replica, with the transaction that has
    /// the new name.
    private func renameSchema(to new: ReplicaID) throws {
        let schemas = storage.schemas
        for record in try schemas.all() where record.dot.replica == own && record.dot.number > kept
        {
            var renamed = record
            renamed.dot = self.renamed(record.dot, to: new)
            try schemas.remove(own)
            try schemas.write(renamed)
        }
    }

    private func renamed(_ dot: Dot, to new: ReplicaID) -> Dot {
        dot.replica == own && dot.number > kept ? Dot(new, dot.number) : dot
    }

    /// The fields of a version; a set has the transactions that added its elements.
    private func renamed(_ fields: [Field], to new: ReplicaID) -> [Field] {
        fields.map { field in
            guard case .value(let value) = field else { return field }
            return .value(BlendCoding.renamed(value, after: Dot(own, kept), to: new))
        }
    }

    private func renameHeaders(to new: ReplicaID) throws {
        let headers = storage.headers
        var affected: [(place: Int64, header: TransactionHeader, details: [UInt8])] = []
        try headers.forEach(after: 0) { place, header, details in
            if header.dot.replica == own, header.dot.number > kept {
                affected.append((place, header, details))
            }
        }
        guard let first = affected.first else { return }
        // What was merged of the old name, beside what is renamed.
        let last = min(first.header.seen[own], kept)
        for (place, header, details) in affected {
            var seen = VersionVector(header.seen.entries.filter { $0.replica != own })
            seen.advance(to: Dot(own, last))
            seen.advance(to: renamed(Dot(own, header.seen[own]), to: new))
            try headers.remove(at: place)
            try headers.append(
                TransactionHeader(
                    renamed(header.dot, to: new), time: header.time, seen: seen),
                place: place, details: details)
        }
        try headers.lower(to: Dot(own, last))
        headers.reload()
    }

    private func renameRecords(to new: ReplicaID) throws {
        let objects = storage.objects
        var affected: [(ObjectUID, StoredObject)] = []
        try objects.forEach { uid, object in
            guard let record = renamed(object.record, to: new) else { return }
            var object = object
            object.record = record
            affected.append((uid, object))
        }
        for (uid, object) in affected {
            try objects.write(object, uid: uid, replacing: nil)
        }
        try objects.rewriteForeign { renamed($0, to: new) }
    }

    /// The record with the new names; nil: it has none of the old ones.
    private func renamed(_ record: ObjectRecord, to new: ReplicaID) -> ObjectRecord? {
        guard record.dots.contains(where: { $0 != renamed($0, to: new) }) else { return nil }
        var record = record
        record.life = record.life.map {
            Life(renamed($0.dot, to: new), kind: $0.kind, incarnation: $0.incarnation)
        }
        record.cells = record.cells.map { versions in
            versions.map {
                Version(
                    renamed($0.dot, to: new), incarnation: $0.incarnation,
                    value: renamed($0.value, to: new))
            }
        }
        return record
    }

    private func renameUnknown(to new: ReplicaID) throws {
        var affected: [UnknownFacts.Entry] = []
        _ = try storage.unknown.removeAll { entry in
            guard entry.fact.dot != renamed(entry.fact.dot, to: new) else { return nil }
            affected.append(entry)
            return ([entry.fact], [])
        }
        for entry in affected {
            let fact: Fact
            switch entry.fact {
            case .alias: continue
            case .life(let uid, _, let life):
                fact = .life(
                    uid, entity: 0,
                    Life(renamed(life.dot, to: new), kind: life.kind, incarnation: life.incarnation)
                )
            case .cell(let uid, _, _, let version):
                fact = .cell(
                    uid, entity: 0, cell: 0,
                    Version(
                        renamed(version.dot, to: new), incarnation: version.incarnation,
                        value: renamed(version.value, to: new)))
            }
            try storage.unknown.write(
                fact, of: entry.described, columns: entry.columns, number: entry.number)
        }
    }
}
