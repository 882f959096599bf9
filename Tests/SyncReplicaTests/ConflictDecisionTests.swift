import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// A person keeps the side of a conflict that is not shown: the tables of all replicas show it
/// then, or the error says why not.
@Suite("Conflicts that a person decides")
struct ConflictDecisionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Two replicas that have written concurrently, and met.
    private func meeting(
        _ schema: String, a first: String, b second: String, policies: MergePolicies? = nil
    ) throws -> (a: TestStore, b: TestStore) {
        let a = try TestStore(folder.file("a.db"), schema: schema)
        if let policies { try a.replica.setPolicies(policies) }
        let b = try a.copy(at: folder.file("b.db"))
        try a.run(first)
        _ = try a.replica.vector
        usleep(3000)  // the second write has a later time, in milliseconds
        try b.run(second)
        try TestStore.sync(a, b)
        return (a, b)
    }

    /// Checks that the replicas are equal, and that none has anything to send.
    private func requireAgreement(_ stores: TestStore...) throws {
        for from in stores {
            for to in stores where to.path != from.path { try to.pull(from: from) }
        }
        for from in stores {
            for to in stores where to.path != from.path { try to.pull(from: from) }
        }
        for store in stores {
            #expect(try store.dump() == stores[0].dump())
            #expect(try store.replica.openConflicts() == stores[0].replica.openConflicts())
            for other in stores {
                #expect(try store.replica.batches(since: other.replica.vector).isEmpty)
            }
        }
    }

    /// Keeps the side that is not shown, of the conflict about a column.
    /// - Returns: what was done; what `preview` said before must be the same.
    @discardableResult
    private func keepLosing(
        _ column: String?, of reason: ConflictReason, at store: TestStore
    ) throws -> ConflictOutcome {
        let open = try store.replica.conflicts()
        let found = try #require(
            open.first {
                $0.reason == reason && (column == nil || $0.properties == [column])
            }, "\(open)")
        guard case .outcome(let foreseen) = try store.replica.preview(found.id, keeping: .losing)
        else {
            Issue.record("the preview refuses what is to be done")
            return try store.replica.resolve(found.id, keeping: .losing)
        }
        let outcome = try store.replica.resolve(found.id, keeping: .losing, author: "judge")
        #expect(outcome == foreseen)
        let closed = try #require(
            try store.replica.conflicts(open: false).first { $0.id == found.id })
        #expect(closed.losing.values == found.losing.values)
        #expect(closed.shown.values == found.shown.values)
        return outcome
    }

    private func refusal(
        _ column: String?, of reason: ConflictReason, at store: TestStore
    ) throws -> SyncError {
        let open = try store.replica.conflicts()
        let found = try #require(
            open.first {
                $0.reason == reason && (column == nil || $0.properties == [column])
            }, "\(open)")
        let before = try store.dump()
        let error = #expect(throws: SyncError.self) {
            try store.replica.resolve(found.id, keeping: .losing)
        }
        #expect(error?.code == .refused)
        #expect(try store.dump() == before)
        #expect(try store.replica.conflicts().contains { $0.id == found.id })
        return try #require(error)
    }

    private static let users = """
        CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT UNIQUE NOT NULL, name TEXT);
        INSERT INTO u VALUES (1, 'ann', 'Ann'), (2, 'bob', 'Bob');
        """

    // MARK: Edits and deletes

    @Test("edit against edit: the other value is shown")
    func editAgainstEdit() throws {
        let (a, b) = try meeting(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('x', 'old')",
            a: "UPDATE t SET v = 'a'", b: "UPDATE t SET v = 'b'")
        let outcome = try keepLosing("v", of: .lost, at: a)
        #expect(outcome.rows.map(\.path) == ["t/x"])
        #expect(outcome.rows[0].before["v"] == "b")
        #expect(outcome.rows[0].after["v"] == "a")
        try requireAgreement(a, b)
        #expect(try b.rows("SELECT v FROM t") == [["a"]])
        let closed = try b.replica.conflicts(open: false)
        #expect(closed.map(\.losing.values) == [NamedValues([.init(name: "v", value: "a")])])
        #expect(closed.map(\.shown.values) == [NamedValues([.init(name: "v", value: "b")])])
        #expect(closed[0].decision?.author == "judge")
        #expect(closed[0].decision?.replica == a.replica.replicaID)
        #expect(closed[0].decision?.time != nil)
    }

    @Test("a person may write a third value")
    func anotherValue() throws {
        let (a, b) = try meeting(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v INTEGER); INSERT INTO t VALUES ('x', 0)",
            a: "UPDATE t SET v = 1", b: "UPDATE t SET v = 2")
        let id = try #require(try a.replica.conflicts().first).id
        #expect(throws: SyncError.self) {
            try a.replica.resolve(id, keeping: .values(["k": "y"]))
        }
        try a.replica.resolve(id, keeping: .values(["V": "3"]))
        try requireAgreement(a, b)
        #expect(try b.rows("SELECT v, typeof(v) FROM t") == [[3, "integer"]])
        #expect(try b.replica.conflicts().isEmpty)
    }

    @Test("edit against delete: the row is there again, with its key in the log before")
    func editAgainstDelete() throws {
        let (a, b) = try meeting(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (7, 'old')",
            a: "DELETE FROM t", b: "UPDATE t SET v = 'edited'")
        for store in [a, b] {
            let found = try store.replica.conflicts()
            #expect(found.map(\.path) == ["t/7"])
            #expect(found.map(\.presence) == [.deleted])
        }
        let outcome = try keepLosing("v", of: .hidden, at: a)
        #expect(outcome.rows.map(\.kind) == [.insert])
        try requireAgreement(a, b)
        #expect(try b.rows("SELECT * FROM t") == [[7, "edited"]])
    }

    @Test("a delete that lost because a row refers to the object is refused, and names the row")
    func deleteLost() throws {
        let (a, b) = try meeting(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY, v TEXT);
            CREATE TABLE c(k TEXT PRIMARY KEY, p TEXT REFERENCES p ON DELETE RESTRICT);
            INSERT INTO p VALUES ('p', 'value');
            """, a: "DELETE FROM p", b: "INSERT INTO c VALUES ('c', 'p')")
        let error = try refusal(nil, of: .deleteLost, at: a)
        #expect(error.reason.contains("p/p"))
        #expect(error.reason.contains("c/c"))
        try a.run("DELETE FROM c; DELETE FROM p")
        try requireAgreement(a, b)
        #expect(try b.rows("SELECT * FROM p").isEmpty)
        #expect(try b.replica.conflicts().isEmpty)
    }

    @Test("an edit of a row that was deleted and inserted again elsewhere")
    func olderIncarnation() throws {
        let (a, b) = try meeting(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('x', 'old')",
            a: "DELETE FROM t; INSERT INTO t VALUES ('x', 'new')", b: "UPDATE t SET v = 'edited'")
        try keepLosing("v", of: .olderIncarnation, at: b)
        try requireAgreement(a, b)
        #expect(try a.rows("SELECT v FROM t") == [["edited"]])
    }

    // MARK: UNIQUE

    @Test("rows that two inserts made one: the other value is shown in the one row")
    func uniqueByInserts() throws {
        let (a, b) = try meeting(
            Self.users, a: "INSERT INTO u VALUES (3, 'eve', 'Eve A')",
            b: "INSERT INTO u VALUES (3, 'eve', 'Eve B')")
        #expect(try a.rows("SELECT count(*) FROM u") == [[3]])
        try keepLosing("name", of: .lost, at: a)
        try requireAgreement(a, b)
        #expect(try b.rows("SELECT name FROM u WHERE email = 'eve'") == [["Eve A"]])
    }

    @Test("a clash of updates: the later row is shown without the value, and may get it")
    func uniqueByUpdates() throws {
        let (a, b) = try meeting(
            Self.users.replacing(" NOT NULL", with: ""),
            a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new' WHERE id = 2")
        #expect(try a.rows("SELECT id, email FROM u ORDER BY id") == [[1, "new"], [2, nil]])
        let outcome = try keepLosing("email", of: .lost, at: b)
        #expect(Set(outcome.rows.map(\.path)) == ["u/1", "u/2"])
        try requireAgreement(a, b)
        #expect(try a.rows("SELECT id, email FROM u ORDER BY id") == [[1, nil], [2, "new"]])
        #expect(try a.replica.conflicts().isEmpty)
    }

    @Test("a clash stays open when other rows are written, and no NULL becomes a value")
    func uniqueByUpdatesBesideOtherCommits() throws {
        let (a, b) = try meeting(
            Self.users.replacing(" NOT NULL", with: "")
                + "CREATE TABLE other(k TEXT PRIMARY KEY, v TEXT); INSERT INTO other(k) VALUES ('o')",
            a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new' WHERE id = 2")
        for store in [a, b] { try store.run("INSERT INTO other(k) VALUES ('\(store.path)')") }
        try TestStore.sync(a, b)
        #expect(try a.replica.conflicts().count == 1)
        try keepLosing("email", of: .lost, at: b)
        try requireAgreement(a, b)
        #expect(try a.rows("SELECT id, email FROM u ORDER BY id") == [[1, nil], [2, "new"]])
    }

    @Test("where the value cannot be NULL, the later row is not shown, and no value is made up")
    func uniqueByUpdatesNotNull() throws {
        let (a, b) = try meeting(
            Self.users, a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new', name = 'Robert' WHERE id = 2")
        for store in [a, b] {
            #expect(try store.rows("SELECT * FROM u") == [[1, "new", "Ann"]])
            #expect(try store.replica.hiddenRowCount() == 1)
            let open = try store.replica.conflicts()
            #expect(Set(open.map(\.path)) == ["u/2"])
            #expect(open.allSatisfy { $0.presence == .notShown && $0.reason == .hidden })
        }
        let error = try refusal("email", of: .hidden, at: a)
        #expect(error.reason.contains("u/1 has the same value of email"))
        #expect(error.reason.contains("u/2"))
    }

    @Test("a row that is not shown gets another value by a decision")
    func hiddenRowGetsAnotherValue() throws {
        let (a, b) = try meeting(
            Self.users, a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new', name = 'Robert' WHERE id = 2")
        let id = try #require(
            try b.replica.conflicts().first { $0.properties == ["email"] }
        ).id
        try b.replica.resolve(id, keeping: .values(["email": "robert"]))
        try requireAgreement(a, b)
        #expect(
            try a.rows("SELECT * FROM u ORDER BY id")
                == [[1, "new", "Ann"], [2, "robert", "Robert"]])
        #expect(try a.replica.conflicts().isEmpty)
        #expect(try a.replica.hiddenRowCount() == 0)
    }

    @Test("a row that is not shown appears as soon as a program gives the other one another value")
    func hiddenRowAppears() throws {
        let (a, b) = try meeting(
            Self.users, a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new', name = 'Robert' WHERE id = 2")
        try a.run("UPDATE u SET email = 'ann2' WHERE id = 1")
        try requireAgreement(a, b)
        #expect(
            try b.rows("SELECT * FROM u ORDER BY id")
                == [[1, "ann2", "Ann"], [2, "new", "Robert"]])
        #expect(try a.replica.conflicts().isEmpty)
    }

    @Test("what refers to a row that is not shown is not lost with it")
    func childrenOfHiddenRow() throws {
        let (a, b) = try meeting(
            Self.users + """
                CREATE TABLE o(id INTEGER PRIMARY KEY, u INTEGER NOT NULL REFERENCES u, what TEXT);
                INSERT INTO o VALUES (1, 2, 'pen');
                """, a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new' WHERE id = 2")
        #expect(try a.rows("SELECT * FROM o").isEmpty)
        #expect(try a.replica.hiddenRowCount() == 2)
        try b.run("DELETE FROM u WHERE id = 1")
        try requireAgreement(a, b)
        #expect(
            try a.rows("SELECT o.what, u.name FROM o JOIN u ON u.id = o.u") == [["pen", "Bob"]])
    }

    @Test("to keep what is shown deletes a row that is not shown, and says so")
    func keepShownOfHiddenRow() throws {
        let (a, b) = try meeting(
            Self.users, a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new' WHERE id = 2")
        let id = try #require(try a.replica.conflicts().first).id
        let outcome = try a.replica.resolve(id, keeping: .shown)
        #expect(outcome.rows.isEmpty)
        #expect(outcome.deletedObject == "u/2")
        try requireAgreement(a, b)
        #expect(try b.replica.hiddenRowCount() == 0)
        #expect(try b.replica.conflicts().isEmpty)
        #expect(try b.replica.conflicts(open: false).contains { $0.losing.values["name"] == "Bob" })
    }

    @Test("settling everything is refused while it would delete rows that are not shown")
    func settleWithHiddenRows() throws {
        let (a, b) = try meeting(
            Self.users, a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new' WHERE id = 2")
        let error = #expect(throws: SyncError.self) { try a.replica.closeConflicts() }
        #expect(error?.code == .refused)
        #expect(error?.reason.contains("u/2") ?? false)
        #expect(try a.replica.hiddenRowCount() == 1)
        try a.replica.closeConflicts(isDeletingHidden: true)
        try requireAgreement(a, b)
        #expect(try b.replica.conflicts().isEmpty)
    }

    @Test("keepBoth alone writes a suffix, because its owner asked for it")
    func keepBothByUpdates() throws {
        var policies = MergePolicies()
        policies.entities["u"] = .init(unique: .keepBoth)
        let (a, b) = try meeting(
            Self.users, a: "UPDATE u SET email = 'new' WHERE id = 1",
            b: "UPDATE u SET email = 'new' WHERE id = 2", policies: policies)
        let rows = try a.rows("SELECT email FROM u WHERE id = 2")
        #expect(rows[0][0].description.hasPrefix("'new~"))
        try keepLosing("email", of: .lost, at: a)
        try requireAgreement(a, b)
        #expect(try b.rows("SELECT name FROM u WHERE email = 'new'") == [["Bob"]])
    }

    // MARK: References

    @Test("a reference that is shown as NULL: its target is there again with it")
    func referenceShownAsNull() throws {
        let (a, b) = try meeting(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY, v TEXT);
            CREATE TABLE c(k TEXT PRIMARY KEY, p TEXT REFERENCES p ON DELETE SET NULL);
            INSERT INTO p VALUES ('p', 'value'); INSERT INTO c VALUES ('c', NULL);
            """, a: "DELETE FROM p", b: "UPDATE c SET p = 'p'")
        #expect(try a.rows("SELECT p FROM c") == [[nil]])
        try keepLosing("p", of: .lost, at: a)
        try requireAgreement(a, b)
        #expect(try b.rows("SELECT c.p, v FROM c JOIN p ON p.k = c.p") == [["p", "value"]])
    }

    @Test("a reference that is shown as its default: its target is there again with it")
    func referenceShownAsDefault() throws {
        let (a, b) = try meeting(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY, v TEXT);
            CREATE TABLE c(k TEXT PRIMARY KEY, p TEXT DEFAULT 'd' REFERENCES p ON DELETE SET DEFAULT);
            INSERT INTO p VALUES ('p', 1), ('d', 2); INSERT INTO c VALUES ('c', NULL);
            """, a: "DELETE FROM p WHERE k = 'p'", b: "UPDATE c SET p = 'p'")
        #expect(try a.rows("SELECT p FROM c") == [["d"]])
        try keepLosing("p", of: .lost, at: b)
        try requireAgreement(a, b)
        #expect(try a.rows("SELECT p FROM c") == [["p"]])
    }

    @Test("a row whose parent was deleted elsewhere is there again, with its parent")
    func insertAgainstDeletedParent() throws {
        let (a, b) = try meeting(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY, v TEXT);
            CREATE TABLE c(k TEXT PRIMARY KEY, p TEXT NOT NULL REFERENCES p ON DELETE CASCADE);
            INSERT INTO p VALUES ('p', 'value');
            """, a: "DELETE FROM p", b: "INSERT INTO c VALUES ('c', 'p')")
        #expect(try b.rows("SELECT * FROM c").isEmpty)
        #expect(try a.replica.conflicts().allSatisfy { $0.path == "c/c" })
        try keepLosing(nil, of: .hidden, at: a)
        try requireAgreement(a, b)
        #expect(try a.rows("SELECT c.k, p.k FROM c JOIN p ON p.k = c.p") == [["c", "p"]])
    }

    @Test("a row that a union breaks cannot be shown, and the error says so")
    func checkAfterUnion() throws {
        let (a, b) = try meeting(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, u TEXT NOT NULL UNIQUE);
            CREATE TABLE f(x INTEGER NOT NULL REFERENCES p, y INTEGER NOT NULL REFERENCES p, d TEXT,
              PRIMARY KEY(x, y), CHECK(x <> y));
            INSERT INTO p VALUES (1, 'one');
            """, a: "UPDATE p SET u = 'same'",
            b: "INSERT INTO p VALUES (2, 'same'); INSERT INTO f VALUES (1, 2, 'friends')")
        #expect(try a.rows("SELECT count(*) FROM p") == [[1]])
        #expect(try a.rows("SELECT * FROM f").isEmpty)
        for store in [a, b] {
            let error = try refusal("d", of: .hidden, at: store)
            #expect(error.reason.contains("constraint"))
        }
        try requireAgreement(a, b)
    }

    // MARK: Blended values

    @Test(
        "lines that clash: the other text is shown", arguments: [CellPolicy.text, .counter, .set])
    func blendedValues(policy: CellPolicy) throws {
        var policies = MergePolicies()
        policies.entities["t"] = .init(columns: ["v": policy])
        let values: (type: String, old: String, a: String, b: String)
        switch policy {
        case .text: values = ("TEXT", "'one'", "'two'", "'three'")
        case .counter: values = ("INTEGER", "NULL", "5", "6")
        default: values = ("TEXT", "'x'", "'[1]'", "'y'")
        }
        let (a, b) = try meeting(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v \(values.type)); "
                + "INSERT INTO t VALUES ('k', \(values.old))",
            a: "UPDATE t SET v = \(values.a)", b: "UPDATE t SET v = \(values.b)",
            policies: policies)
        guard let found = try a.replica.conflicts().first else {
            return #expect(policy != .text, "clashing lines are a conflict")
        }
        try a.replica.resolve(found.id, keeping: .losing)
        try requireAgreement(a, b)
        let losing = try #require(found.losing.values["v"])
        #expect(try b.rows("SELECT v FROM t") == [[losing]])
        #expect(try b.replica.conflicts().isEmpty)
    }
}
