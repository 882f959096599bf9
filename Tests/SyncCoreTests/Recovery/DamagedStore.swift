import Foundation
import SyncStorage
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// A tracked store that was synchronised, has remotes, keys and consumers, and of which objects are
/// dropped as another program would.
final class DamagedStore {
    /// What makes it usable again, or takes it away.
    enum Remedy: CaseIterable { case untrack, track, mend }

    let folder: TemporaryFolder
    let path: String
    /// The end of history before anything was dropped.
    let token: Token
    let id: StoreID
    let replica: ReplicaID
    /// What the file holds without a trace of syncd.
    let plain: [String]

    init(journal: String = "wal") throws {
        let template = try journal == "wal" ? Template.wal.get() : Template.delete.get()
        folder = try TemporaryFolder()
        path = folder.file("damaged.db")
        try FileManager.default.copyItem(atPath: template.path, toPath: path)
        (token, id, replica, plain) = (
            template.token, template.id, template.replica, template.plain
        )
        // The same replica, not a copy.
        let mark = try #require(FileIdentity(path: path)?.mark)
        try PlainConnection(path).run(
            "UPDATE syncd_meta SET value = '\(mark)' WHERE key = 'file'")
    }

    /// Made once for each journal mode.
    private struct Template {
        static let wal = Result { try Template("wal") }
        static let delete = Result { try Template("delete") }

        let folder: TemporaryFolder
        let path: String
        let token: Token
        let id: StoreID
        let replica: ReplicaID
        let plain: [String]

        private init(_ journal: String) throws {
            folder = try TemporaryFolder()
            path = folder.file("template.db")
            let db = try PlainConnection(path)
            try db.run("PRAGMA journal_mode = \(journal)")
            try db.run(DamagedStore.schema)
            try Store.track(path, options: ["item": CaptureOptions(undo: true)])
            try db.run("INSERT INTO syncd_txn(author) VALUES('me')")
            try db.run("UPDATE item SET n = 5 WHERE id = 1; INSERT INTO pair VALUES('p', 1, 'v')")
            let store = try Store.open(path)
            #expect(try store.digest() == false)
            try store.register(consumer: "reader", kind: .reader, lease: nil)
            try store.add(remote: RemoteEntry(name: "origin", url: "dir:/nowhere"))
            try store.makeKey()
            let replica = try StoreReplica(path)
            #expect(try replica.batches(since: VersionVector()).isEmpty == false)
            try replica.close()
            try db.run("INSERT INTO item VALUES(3, 'three', 3); DELETE FROM item WHERE id = 2")
            (token, id, self.replica) = (try store.head(), store.id, store.replica)
            try store.close()
            try db.run("PRAGMA wal_checkpoint(TRUNCATE)")
            let copy = folder.file("plain.db")
            try db.run("VACUUM INTO '\(copy)'")
            try Store.untrack(copy)
            plain = try PlainConnection(copy).dump()
        }
    }

    private static let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT UNIQUE, n);
        CREATE TABLE part(id INTEGER PRIMARY KEY, item REFERENCES item ON DELETE CASCADE);
        CREATE TABLE pair(a TEXT, b INTEGER, v, PRIMARY KEY(a, b)) WITHOUT ROWID;
        CREATE VIEW titles AS SELECT title FROM item;
        CREATE TABLE seen(n);
        CREATE TRIGGER noted AFTER DELETE ON item BEGIN INSERT INTO seen VALUES(OLD.id); END;
        INSERT INTO item VALUES(1, 'one', 1), (2, 'two', 2);
        """

    /// Everything of the store's own, triggers on the tables too.
    func objects() throws -> [(type: String, name: String)] {
        try PlainConnection(path).rows(
            "SELECT type, name FROM sqlite_schema WHERE name LIKE 'syncd%' ORDER BY rowid"
        ).map { (Self.text($0[0]), Self.text($0[1])) }
    }

    private static func text(_ value: Value) -> String {
        if case .text(let text) = value { text } else { "" }
    }

    func drop(_ objects: [(type: String, name: String)]) throws {
        let db = try PlainConnection(path)
        for (type, name) in objects { try db.run("DROP \(type) IF EXISTS \(name)") }
    }

    /// Applies a remedy, and expects everything of it.
    @discardableResult
    func apply(_ remedy: Remedy) throws -> RepairReport? {
        switch remedy {
        case .untrack:
            try Store.untrack(path)
            let dump = try PlainConnection(path).dump()
            #expect(dump.sorted() == plain.sorted())
            #expect(throws: SyncError(.notTracked, "")) { try Store.untrack(self.path) }
            return nil
        case .track:
            let report = try Store.track(path).repair
            try expectWhole()
            return report
        case .mend:
            let report = try Store.mend(path)
            try expectWhole()
            return report
        }
    }

    /// Writers write, history records it, nothing is wrong, and merging works.
    func expectWhole() throws {
        let tracker = try Tracker(path: path)
        #expect(try tracker.verify(thoroughly: true) == [])
        let again = try Store.mend(path)
        #expect(again.findings == [] && again.losses == [] && again.recoveredCount == 0)
        let store = try Store.open(path)
        defer { try? store.close() }
        let head = try store.head()
        let db = try PlainConnection(path)
        try db.run("INSERT INTO item VALUES(9, 'nine', 9)")
        try db.run("UPDATE item SET n = 10 WHERE id = 9")
        try db.run(
            "INSERT OR REPLACE INTO item VALUES(10, 'nine', 1); DELETE FROM item WHERE id = 10")
        var query = HistoryQuery()
        query.after = head
        let kinds = try store.history(query).flatMap(\.changes).map(\.kind)
        #expect(kinds.contains(.insert) && kinds.contains(.delete), "\(kinds)")
        #expect(try store.digest() == false)
        try store.check(head)
        #expect(try Store.integrity(path) == [])
        #expect(try StoreObjects(of: path).foreign == [])
        let merged = try StoreReplica(path)
        #expect(try merged.batches(since: VersionVector()).isEmpty == false)
        try merged.close()
    }
}

extension StoreObjects {
    init(of path: String) throws {
        self = try DatabaseOpener.open(path).read { try StoreObjects($0) }
    }
}
