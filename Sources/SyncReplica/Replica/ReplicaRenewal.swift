import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Makes a file that was put back to an earlier state with its identity another replica.
///
/// Other replicas may have transactions of the old name that the file lost: they come back as
/// another replica's. What was written since then has numbers that the lost ones have, too; nobody
/// has got it, so that it can be renamed, in everything that names it. What was sent before keeps
/// its name: others refer to it. Where that ends is known by `syncd_meta.sent`, which went back
/// with the file. Transactions that were not yet sent when the backup was made are renamed as well,
/// and may come back under their old name: their objects have the same identities, and the facts
/// are equal.
struct ReplicaRenewal {
    private let work: MergeWork
    private let own: ReplicaID
    /// The newest own transaction that keeps its name.
    private let kept: Int64

    init(_ work: MergeWork) throws {
        self.work = work
        own = work.session.identity.replica
        kept = try work.sentNumber()
    }

    /// - Returns: the new name.
    func run() throws -> ReplicaID {
        let prepared = work.prepared
        let connection = work.session.connection
        let new = try Store.becomeNew(connection, prepared.history.settings)
        let numbers = (
            old: try prepared.replicas.number(of: own), new: try prepared.replicas.number(of: new)
        )
        try renameHeaders(new)
        try renameRecords(new)
        try renameUnknown(new)
        for (replica, number, table) in [
            ("replica", "number", "syncd_alias"), ("replica", "number", "syncd_conflict"),
            ("met_replica", "met_number", "syncd_conflict"),
        ] {
            try Statement(
                connection,
                "UPDATE \(table) SET \(replica) = ?1 WHERE \(replica) = ?2 AND \(number) > ?3"
            ).run(.integer(numbers.new), .integer(numbers.old), .integer(kept))
        }
        // Found at a vector that names what was renamed; the next collection begins again.
        try RawTransaction.execute(connection, "DELETE FROM syncd_mark; DELETE FROM syncd_round")
        return new
    }

    private func renamed(_ dot: Dot, _ new: ReplicaID) -> Dot {
        dot.replica == own && dot.number > kept ? Dot(new, dot.number) : dot
    }

    private func renameHeaders(_ new: ReplicaID) throws {
        let headers = work.prepared.headers
        var affected: [(place: Int64, header: TransactionHeader, details: [UInt8])] = []
        try headers.forEach(after: 0) { place, header, details in
            if header.dot.replica == own, header.dot.number > kept {
                affected.append((place, header, details))
            }
        }
        guard let first = affected.first else { return }
        // What was merged of the old name, beside what is renamed.
        let last = min(first.header.seen[own], kept)
        let connection = work.session.connection
        let remove = try Statement(connection, "DELETE FROM syncd_header WHERE place = ?1")
        for (place, header, details) in affected {
            var seen = VersionVector(header.seen.entries.filter { $0.replica != own })
            seen.advance(to: Dot(own, last))
            seen.advance(to: renamed(Dot(own, header.seen[own]), new))
            try remove.run(.integer(place))
            try headers.append(
                TransactionHeader(
                    renamed(header.dot, new), time: header.time, seen: seen),
                place: place, details: details)
        }
        try Statement(connection, "UPDATE syncd_replica SET merged = ?2 WHERE replica = ?1")
            .run(.blob(own.bytes), .integer(last))
        headers.reload()
    }

    private func renameRecords(_ new: ReplicaID) throws {
        let objects = work.prepared.objects
        var affected: [(ObjectUID, StoredObject)] = []
        try objects.forEach(after: -1) { uid, object in
            guard object.record.dots.contains(where: { $0 != renamed($0, new) }) else { return }
            var object = object
            object.record.life = object.record.life.map {
                Life(renamed($0.dot, new), kind: $0.kind, incarnation: $0.incarnation)
            }
            object.record.cells = object.record.cells.map { versions in
                versions.map {
                    Version(renamed($0.dot, new), incarnation: $0.incarnation, value: $0.value)
                }
            }
            affected.append((uid, object))
        }
        for (uid, object) in affected { try objects.write(uid, object) }
    }

    private func renameUnknown(_ new: ReplicaID) throws {
        var affected: [UnknownFacts.Entry] = []
        _ = try work.prepared.unknown.take { entry in
            guard entry.fact.dot != renamed(entry.fact.dot, new) else { return nil }
            affected.append(entry)
            return entry.fact
        }
        for entry in affected {
            let fact: Fact
            switch entry.fact {
            case .alias: continue
            case .life(let uid, _, let life):
                fact = .life(
                    uid, entity: 0,
                    Life(renamed(life.dot, new), kind: life.kind, incarnation: life.incarnation))
            case .cell(let uid, _, _, let version):
                fact = .cell(
                    uid, entity: 0, cell: 0,
                    Version(
                        renamed(version.dot, new), incarnation: version.incarnation,
                        value: version.value))
            }
            let entity = Batch.Entity(
                name: entry.entity, isPrivate: entry.isPrivate, cells: [entry.columns])
            try work.prepared.unknown.write(fact, [entity])
        }
    }
}
