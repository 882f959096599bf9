import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The write transactions of a collection: each of them short.
extension MergeWork {
    // MARK: Who has what

    /// Takes note of what other replicas have merged. An acknowledgement counts once all that its
    /// replica wrote up to there is here: else it might still say something about what is dropped.
    /// - Parameter now: milliseconds since 1970.
    func note(_ acknowledged: [ReplicaID: VersionVector], at now: Int64) throws {
        let own = try prepared.headers.vector()
        let storage = try PeerStorage(session.connection, prepared.replicas)
        let known = try storage.all()
        var heard = acknowledged
        for replica in own.entries.map(\.replica) + known.keys where heard[replica] == nil {
            heard[replica] = VersionVector()
        }
        heard[session.identity.replica] = nil
        for (replica, vector) in heard.sorted(by: { $0.key < $1.key }) {
            var peer = known[replica] ?? PeerStorage.Peer(replica: replica)
            let before = peer
            if own[replica] >= vector[replica] { peer.merged.join(vector) }
            // Whoever wrote something had merged what its transaction had seen.
            if let last = try prepared.headers.header(Dot(replica, own[replica])) {
                peer.merged.join(last.seen)
                peer.merged.advance(to: last.dot)
            }
            if peer.merged.covers(own) {
                peer.behindSince = nil
            } else if peer.merged != before.merged || peer.behindSince == nil {
                peer.behindSince = now
            }
            if peer != before || known[replica] == nil { try storage.write(peer) }
        }
    }

    /// What every replica has merged that has not been away for longer than `lease`, milliseconds.
    func stableCut(at now: Int64, lease: Int64) throws -> VersionVector {
        let storage = try PeerStorage(session.connection, prepared.replicas)
        let present = try storage.all().values.filter { !$0.isAbsent(at: now, lease: lease) }
        return Collector.stableCut(
            own: try prepared.headers.vector(), acknowledged: present.map(\.merged))
    }

    // MARK: Marking

    /// Begins a round; what an interrupted one left is undone.
    func begin(round: Int64) throws {
        let connection = session.connection
        try RawTransaction.execute(
            connection,
            """
            DELETE FROM syncd_mark WHERE round NOT IN
              (SELECT id FROM syncd_round WHERE merged IS NOT NULL)
            """)
        try RawTransaction.execute(
            connection,
            """
            DELETE FROM syncd_round WHERE merged IS NULL
              OR id NOT IN (SELECT DISTINCT round FROM syncd_mark)
            """)
        try Statement(connection, "INSERT INTO syncd_round(id) VALUES (?1)").run(.integer(round))
    }

    /// Marks objects that are gone, as candidates: those with an open conflict are not done with.
    /// - Parameter row: where the slice before ended.
    /// - Returns: where this one ended; nil: there are no more.
    func mark(round: Int64, after row: Int64, count: Int) throws -> Int64? {
        let connection = session.connection
        let select = try Statement(
            connection,
            """
            SELECT id, uid FROM syncd_object o
            WHERE state = \(StoredObject.State.gone.rawValue) AND state <> 0 AND id > ?1
              AND NOT EXISTS (SELECT 1 FROM syncd_mark m WHERE m.uid = o.uid)
              AND NOT EXISTS (SELECT 1 FROM syncd_alias a WHERE a.first = o.uid)
              AND NOT EXISTS (SELECT 1 FROM syncd_alias a WHERE a.second = o.uid)
              AND NOT EXISTS (SELECT 1 FROM syncd_conflict c
                WHERE c.uid = o.uid AND c.closed IS NULL)
            ORDER BY id LIMIT ?2
            """)
        select.bind(1, row)
        select.bind(2, Int64(count))
        var found: [(Int64, [UInt8])] = []
        while try select.step() { found.append((select.integer(0), select.blob(1) ?? [])) }
        let insert = try Statement(connection, "INSERT INTO syncd_mark(uid, round) VALUES (?1, ?2)")
        for (_, uid) in found { try insert.run(.blob(uid), .integer(round)) }
        return found.last?.0
    }

    /// Takes the marks from what turned out to be needed.
    func unmark(_ uids: some Sequence<ObjectUID>) throws { try prepared.marks.void(Array(uids)) }

    /// Ends a round: what is marked is droppable at what is merged now.
    func end(round: Int64) throws {
        let update = try Statement(
            session.connection, "UPDATE syncd_round SET merged = ?2 WHERE id = ?1")
        try update.run(.integer(round), .blob(try prepared.headers.vector().stored))
    }

    // MARK: Dropping

    /// Drops objects that were marked at a vector that is stable now.
    /// - Returns: how many; 0: there are no more.
    func dropObjects(stable: VersionVector, count: Int) throws -> Int {
        let connection = session.connection
        let rounds = try Statement(
            connection, "SELECT id, merged FROM syncd_round WHERE merged IS NOT NULL")
        var ripe: [Int64] = []
        while try rounds.step() {
            if stable.covers(try VersionVector(stored: rounds.blob(1))) {
                ripe.append(rounds.integer(0))
            }
        }
        let select = try Statement(
            connection, "SELECT uid FROM syncd_mark WHERE round = ?1 LIMIT ?2")
        let drop = try Statement(connection, "DELETE FROM syncd_object WHERE uid = ?1")
        let unmark = try Statement(connection, "DELETE FROM syncd_mark WHERE uid = ?1")
        var uids: [[UInt8]] = []
        for round in ripe where uids.count < count {
            select.bind(1, round)
            select.bind(2, Int64(count - uids.count))
            while try select.step() { uids.append(select.blob(0) ?? []) }
            select.reset()
        }
        guard !uids.isEmpty else { return 0 }
        try pass(stable)
        for uid in uids {
            try drop.run(.blob(uid))
            try unmark.run(.blob(uid))
        }
        return uids.count
    }

    /// Drops headers of stable transactions that no fact needs.
    /// - Parameters:
    ///   - used: transactions of facts that are kept, and of conflicts.
    ///   - place: where the slice before ended.
    /// - Returns: where this one ended, nil at the end; and how many were dropped.
    func dropHeaders(
        stable: VersionVector, used: Set<Dot>, after place: Int64, count: Int
    ) throws -> (place: Int64?, dropped: Int) {
        let connection = session.connection
        let newest = try prepared.headers.newestPlace()
        let select = try Statement(
            connection,
            """
            SELECT place, replica, number FROM syncd_header WHERE place > ?1 ORDER BY place LIMIT ?2
            """)
        select.bind(1, place)
        select.bind(2, Int64(count))
        var last: Int64?
        var places: [Int64] = []
        while try select.step() {
            last = select.integer(0)
            let dot = Dot(try prepared.replicas.name(of: select.integer(1)), select.integer(2))
            if stable.covers(dot), !used.contains(dot), select.integer(0) != newest {
                places.append(select.integer(0))
            }
        }
        guard !places.isEmpty else { return (last, 0) }
        try pass(stable)
        let drop = try Statement(connection, "DELETE FROM syncd_header WHERE place = ?1")
        for place in places { try drop.run(.integer(place)) }
        return (last, places.count)
    }

    /// Drops the vectors that no header names any more.
    func dropRuns() throws {
        try RawTransaction.execute(
            session.connection,
            "DELETE FROM syncd_run WHERE id NOT IN (SELECT run FROM syncd_header)")
    }

    /// From now on whoever lacks something of `stable` gets a snapshot.
    private func pass(_ stable: VersionVector) throws {
        let settings = prepared.history.settings
        let collected = try settings.vector(.collected)
        if !collected.covers(stable) {
            try settings.set(.collected, collected.joined(stable))
        }
    }
}
