import Foundation
import SyncCore
import SyncMerge
import SyncTesting
import SyncValues
import Testing

@testable import SyncReplica

@Suite("Identities of rows with numbers")
struct PrivateIdentityTests {
    private static let store = StoreID(bytes: Array(0..<16))!
    private static let replica = ReplicaID(bytes: Array(16..<32))!
    /// 2026-01-01.
    private static let time = Timestamp(milliseconds: 1_767_225_600_000)

    private func uid(_ key: Int64, bornIn row: Int64?, births: Int64?) -> String {
        PrivateIdentity(store: Self.store, births: births).uid(
            of: .integer(key), in: "Album", replica: Self.replica,
            birth: row.map { ObjectBirth(seq: $0, time: Self.time) }
        ).description
    }

    /// Made by another program (docs/store-format.md §1.6). Files contain such identities: none of
    /// these may ever change.
    @Test("never change")
    func encodings() {
        let hashed = "0faa071e30c6046b46d400b1cabb3ac2"
        #expect(uid(348, bornIn: 348, births: nil) == hashed)
        #expect(uid(348, bornIn: 348, births: 348) == hashed, "an insert of before")
        #expect(uid(348, bornIn: 348, births: 347) == "369170486eab00000000015c0faa071e")
        #expect(uid(348, bornIn: 348, births: 0) == "369170486eab00000000015c0faa071e")
        #expect(uid(7, bornIn: 1 << 48 - 1, births: 0) == "369170486eabffffffffffffb579d7fd")
        #expect(uid(7, bornIn: 1 << 48, births: 0) == "71825f3db73333ffa1aa0b2487cf4faa")
    }

    @Test("never change for rows that are older than history")
    func olderRows() {
        let hashed = "26391baa1177c56a725ab1cbdb1b8d40"
        #expect(uid(348, bornIn: nil, births: nil) == hashed)
        #expect(uid(348, bornIn: nil, births: 1) == hashed)
        #expect(uid(348, bornIn: nil, births: 0) == "542f231c2acb00000000015c26391baa")
        #expect(uid(-1, bornIn: nil, births: 0) == "18ac5f277220a721f6329cf8ee1e69f2")
    }

    @Test("ascend as rows are inserted into a new store, and not in one of an earlier version")
    func ascend() throws {
        let folder = try TemporaryFolder()
        for isEarlier in [false, true] {
            let store = try TestStore(
                folder.file("\(isEarlier).db"), schema: "CREATE TABLE t(id INTEGER PRIMARY KEY)")
            if isEarlier { try store.run("DELETE FROM syncd_meta WHERE key = 'births'") }
            for _ in 0..<50 { try store.run("INSERT INTO t DEFAULT VALUES") }
            let names = try store.replica.names()
            let inOrder = names.sorted { $0.key.precedes($1.key) }.map(\.value)
            #expect(inOrder.count == 50)
            #expect((inOrder == inOrder.sorted()) == !isEarlier)
        }
    }

    /// Both copies have the inserts, and neither had stated them.
    @Test(
        "are the same in copies of a file, whichever version tracked it", arguments: [true, false])
    func copies(isEarlier: Bool) throws {
        let folder = try TemporaryFolder()
        let a = try TestStore(
            folder.file("a.db"), schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        if isEarlier { try a.run("DELETE FROM syncd_meta WHERE key = 'births'") }
        _ = try a.replica.vector
        for number in 0..<5 { try a.run("INSERT INTO t(x) VALUES (\(number))") }
        try a.run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: a.path, toPath: folder.file("b.db"))
        let b = try TestStore(folder.file("b.db"), StoreReplica(folder.file("b.db")))
        for store in [a, b] { try store.run("INSERT INTO t(x) VALUES (9)") }
        let (left, right) = (Set(try a.replica.names().values), Set(try b.replica.names().values))
        #expect(left.intersection(right).count == 5)
        #expect(left.count == 6 && right.count == 6)
    }
}
