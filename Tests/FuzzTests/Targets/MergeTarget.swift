import Foundation
import SyncTesting

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// What a member of a store may send: real batches, changed in any part and signed with the
/// member's own key, are merged into a store. Then its tables are sound, its user writes on, and an
/// honest replica and it exchange what they have.
enum MergeTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        let first = choices.byte()
        let scene = try (first & 1 == 1 ? signed : plain).get()
        try scene.victim.restore()
        let forged = try forge(scene, isSnapshot: first & 2 == 2, &choices)
        let isVerifying = first & 12 == 12
        let isMerged = try merge(forged, in: scene, isVerifying: isVerifying)
        // A refused batch leaves a replica as it was. What follows a merge takes ten times as long
        // as a merge: an input chooses it.
        guard isMerged, first >> 4 & 3 == 0 else { return }
        try scene.honest.restore()
        try goOn(scene, isVerifying: isVerifying)
    }

    private static let plain = Result { try MergeScene("plain", isSigning: false) }
    private static let signed = Result { try MergeScene("signed", isSigning: true) }

    private static func forge(
        _ scene: MergeScene, isSnapshot: Bool, _ choices: inout FuzzChoices
    ) throws -> [[UInt8]] {
        var result: [[UInt8]] = []
        for batch in isSnapshot ? scene.snapshot : scene.news {
            var mutation = BatchMutation(batch, of: scene)
            mutation.run(&choices)
            let key = scene.key
            let bytes = try refusing("encode") {
                try BatchEncoder.encode(mutation.batch, signing: key)
            }
            if let bytes { result.append(bytes) }
        }
        return result
    }

    /// - Returns: whether a batch was merged.
    private static func merge(
        _ batches: [[UInt8]], in scene: MergeScene, isVerifying: Bool
    ) throws -> Bool {
        var isMerged = false
        try refusing("open") {
            let victim = try scene.open(scene.victim, isVerifying: isVerifying)
            defer { try? victim.close() }
            for batch in batches {
                let result = try refusing("merge") { try victim.merge(batch) }
                isMerged = isMerged || result == true
                try refusing("own") { try victim.foreignNumber(in: batch) }
            }
        }
        if isMerged { try sound(scene.victim.path) }
        return isMerged
    }

    /// The honest replica and the user of this one write, and both exchange everything.
    private static func goOn(_ scene: MergeScene, isVerifying: Bool) throws {
        for path in [scene.victim.path, scene.honest.path] {
            let connection = try PlainConnection(path)
            defer { connection.close() }
            try connection.run("PRAGMA foreign_keys = ON")
            try connection.run("INSERT INTO note(text) VALUES ('after')")
            try connection.run("UPDATE note SET num = num + 1 WHERE id = 1")
            try connection.run("INSERT INTO item(text, note) VALUES ('\(path.suffix(9))', NULL)")
            try connection.run("DELETE FROM item WHERE id = 3")
        }
        let victim = try scene.open(scene.victim, isVerifying: isVerifying)
        let honest = try scene.open(scene.honest, isVerifying: isVerifying)
        defer {
            try? victim.close()
            try? honest.close()
        }
        var isExchanged = true
        do {
            for batch in try victim.batches(since: honest.vector) { _ = try honest.merge(batch) }
            for batch in try honest.batches(since: victim.vector) { _ = try victim.merge(batch) }
            _ = try victim.collect(lease: .zero)
        } catch let error as SyncError where error.code == .forked {
            // The member has signed another history for this replica than for the honest one.
            isExchanged = false
        } catch let error as SyncError where error.code == .notSigned {
            // The member wrote without a signature to a replica that did not know its key yet:
            // another one, which knows it, passes that over from every sender.
            isExchanged = false
        } catch {
            throw Finding("an honest exchange fails after a merge: \(error)")
        }
        try sound(scene.victim.path)
        try sound(scene.honest.path)
        guard isExchanged else { return }
        for sql in [
            "SELECT count(*) FROM note WHERE text = 'after'",
            "SELECT text FROM item WHERE text LIKE '%.db' ORDER BY 1",
        ] {
            let (left, right) = (try rows(sql, scene.victim.path), try rows(sql, scene.honest.path))
            try require(left == right, "honest writes differ: \(left) and \(right)")
        }
    }

    private static func rows(_ sql: String, _ path: String) throws -> [[Value]] {
        let connection = try PlainConnection(path)
        defer { connection.close() }
        return try connection.rows(sql)
    }

    private static func sound(_ path: String) throws {
        let integrity = try rows("PRAGMA integrity_check", path)
        try require(integrity == [[.text("ok")]], "integrity_check: \(integrity)")
        let keys = try rows("PRAGMA foreign_key_check", path)
        let broken = try keys.isEmpty ? [] : brokenReferences(among: keys, path)
        try require(broken.isEmpty, "foreign_key_check: \(broken)")
    }

    /// The rows of `foreign_key_check` but for those of a value that a member stated in place of a
    /// reference, as one does that writes without foreign keys: it is shown as it was written.
    private static func brokenReferences(
        among found: [[Value]], _ path: String
    ) throws -> [[Value]] {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        return try replica.run("inspect") { session in
            try session.transact { transaction in
                let storage = transaction.storage
                let region = try RegionLoader.whole(in: storage)
                let view = View(region.state)
                let image = try storage.image(of: view, in: region)
                return found.filter { row in
                    guard case .text(let table) = row[0], case .text(let parent) = row[2],
                        let position = storage.schema.position(of: table),
                        let name = image.names[storage.schema.merge.key(position, [row[1]])],
                        let fields = view.rows[name]?.fields
                    else { return true }
                    let reference = storage.schema.merge.entities[position].references.first {
                        storage.schema.tables[$0.target].name == parent
                    }
                    return reference?.columns.contains { fields[$0].target != nil } ?? true
                }
            }
        }
    }
}

/// Three replicas of a store: of the victim, of the honest user, and of the member who forges.
struct MergeScene: Sendable {
    let victim: FuzzFile
    let honest: FuzzFile
    /// What the member has that the victim lacks, and everything, as it would be sent.
    let news: [Batch]
    let snapshot: [Batch]
    /// The member's own key and name.
    let key: SigningKey?
    let member: ReplicaID
    let replicas: [ReplicaID]

    init(_ name: String, isSigning: Bool) throws {
        let paths = ["victim", "honest", "member"].map { FuzzFolder.file("\(name)-\($0).db") }
        let connection = try PlainConnection(paths[0], wal: true)
        try connection.run(SampleSchema.sql)
        connection.close()
        try Store.track(paths[0])
        let victim = try StoreReplica(paths[0])
        if isSigning { try victim.startSigning() }
        try victim.setPolicies(
            MergePolicies(entities: [
                "note": .init(
                    deletes: .editWins, columns: ["num": .counter, "body": .set, "text": .text])
            ]))
        let first = try victim.batches(since: VersionVector())
        let honest = try StoreReplica.clone(at: paths[1], from: first)
        let member = try StoreReplica.clone(at: paths[2], from: first)
        try Self.write(paths[2], paths[0])
        let key = isSigning ? try Self.key(of: member) : nil
        for batch in try victim.batches(since: member.vector) { _ = try member.merge(batch) }
        for batch in try member.batches(since: honest.vector) { _ = try honest.merge(batch) }
        try Self.write(paths[2], paths[1])
        news = try member.batches(since: victim.vector).map { try BatchDecoder.decode($0) }
        snapshot = try member.batches(since: VersionVector()).map { try BatchDecoder.decode($0) }
        replicas =
            try [victim, honest, member].map(\.replicaID)
            + [ReplicaID(high: 7, low: 7), ReplicaID(high: 0, low: 0)]
        self.member = member.replicaID
        self.key = key
        for replica in [victim, honest, member] { try replica.close() }
        self.victim = try FuzzFile(paths[0])
        self.honest = try FuzzFile(paths[1])
    }

    private static func key(of replica: StoreReplica) throws -> SigningKey? {
        try replica.run("key") { session in
            try session.transact { try $0.storage.signers.all()[replica.replicaID]?.secret }
        }
    }

    /// Edits of two replicas that conflict in every way.
    private static func write(_ one: String, _ other: String) throws {
        for (index, path) in [one, other].enumerated() {
            let connection = try PlainConnection(path)
            defer { connection.close() }
            try connection.run("PRAGMA foreign_keys = ON")
            for sql in [
                "UPDATE note SET text = text || '\(index)', num = num + 5 WHERE id = 1",
                "UPDATE note SET body = '[1,\(index)]'",
                "INSERT OR IGNORE INTO item(text, note) VALUES ('same', \(index + 1))",
                "INSERT OR REPLACE INTO tag VALUES ('green', \(index))",
                "UPDATE item SET tag = 'green' WHERE id = \(index + 1)",
                index == 0
                    ? "DELETE FROM note WHERE id = 2" : "UPDATE note SET num = 9 WHERE id = 2",
            ] { try connection.run(sql) }
        }
    }

    func open(_ file: FuzzFile, isVerifying: Bool) throws -> StoreReplica {
        try StoreReplica(
            file.path, wall: { 1_800_000_000_000 }, isVerifying: isVerifying)
    }
}
