import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// The table of TransactionBuilder, row by row.
@Suite struct TransactionBuilderTests {
    private let log: LogFixture

    init() throws { log = try LogFixture() }

    @Test func insertAndUpdateIsAnInsert() throws {
        try log.log(1, .insert, 7)
        try log.log(1, .update, m: 2, 7)
        #expect(try log.net() == ["insert Album/7"])
    }

    @Test func insertAndDeleteIsNothing() throws {
        try log.log(1, .insert, 7)
        try log.log(1, .delete, 7, "t", 1)
        #expect(try log.transactions().isEmpty)
    }

    @Test func updatesJoinTheirProperties() throws {
        try log.log(1, .update, m: 2, 7)
        try log.log(1, .update, m: 4, 7)
        let change = try #require(try log.transactions().first?.changes.first)
        #expect(change.mask.positions == [1, 2])
    }

    @Test func updateAndDeleteKeepsTheLastValues() throws {
        try log.log(1, .update, m: 2, 7)
        try log.log(1, .delete, 7, "title", 3)
        let change = try #require(try log.transactions().first?.changes.first)
        #expect(change.kind == .delete)
        #expect(change.kept == ["title", 3])
    }

    @Test func deleteAndInsertIsBothInOrder() throws {
        try log.log(1, .delete, 7, "old", 1)
        try log.log(1, .insert, 7)
        #expect(try log.net() == ["delete Album/7", "insert Album/7"])
    }

    @Test func deleteInsertDeleteIsTheFirstDelete() throws {
        try log.log(1, .delete, 7, "old", 1)
        try log.log(1, .insert, 7)
        try log.log(1, .delete, 7, "new", 1)
        let changes = try #require(try log.transactions().first?.changes)
        #expect(changes.count == 1)
        #expect(changes.first?.kept == ["old", 1])
    }

    @Test func deleteInsertDeleteInsertIsBothOnce() throws {
        for _ in 0..<2 {
            try log.log(1, .delete, 7, "old", 1)
            try log.log(1, .insert, 7)
        }
        #expect(try log.net() == ["delete Album/7", "insert Album/7"])
    }

    @Test(arguments: [false, true]) func replaceOfTheSameKeyIsAnUpdate(recursive: Bool) throws {
        if recursive { try log.log(1, .delete, 7, "old", 1) }
        try log.log(1, .replace, m: 1, 7, "old", 1)
        try log.log(1, .insert, 7)
        let change = try #require(try log.transactions().first?.changes.first)
        #expect(try log.net() == ["update Album/7 replace"])
        #expect(change.mask.positions == [1, 2])
    }

    @Test(arguments: [false, true]) func replaceByAnotherKeyIsADelete(recursive: Bool) throws {
        if recursive { try log.log(1, .delete, 7, "old", 1) }
        try log.log(1, .replace, m: 0, 7, "old", 1)
        try log.log(1, .insert, 8)
        #expect(try log.net() == ["delete Album/7 replace", "insert Album/8"])
    }

    @Test func replaceOfWhatThisTransactionInsertedIsAnInsert() throws {
        try log.log(1, .insert, 7)
        try log.log(1, .replace, m: 1, 7, "old", 1)
        try log.log(1, .insert, 7)
        #expect(try log.net() == ["insert Album/7"])
    }

    @Test func updateLoggedBeforeItsInsertIsAnInsert() throws {
        try log.log(1, .update, m: 2, 7)
        try log.log(1, .insert, 7)
        #expect(try log.net() == ["insert Album/7"])
    }

    @Test func oldValuesAreThoseBeforeTheTransaction() throws {
        try log.log(2, .update, m: 2, 7, .null, "first")
        try log.log(2, .update, m: 2, 7, .null, "second")
        let change = try #require(try log.transactions().first?.changes.first)
        #expect(change.old == ["first"])
    }

    @Test func replaceKeepsTheOldValuesWhereTheyAreKept() throws {
        try log.log(2, .replace, m: 1, 7, "before")
        try log.log(2, .insert, 7)
        let change = try #require(try log.transactions().first?.changes.first)
        #expect(change.old == ["before"])
        #expect(change.cause == .replace)
    }

    @Test func renumberingNamesTheOtherKey() throws {
        try log.log(3, .delete, 1, 2, "note")
        try log.log(3, .renumber, 1, 2, 1, 3)
        try log.log(3, .insert, 1, 3)
        let changes = try #require(try log.transactions().first?.changes)
        #expect(
            changes.map(\.cause) == [
                .renumbered(ObjectKey([1, 3])), .renumbered(ObjectKey([1, 2])),
            ])
    }

    @Test func cascadesFollowTheirParent() throws {
        try log.log(1, .delete, 7, "a", 5)
        try log.log(1, .delete, 8, "b", 5)
        try log.log(2, .delete, 5, "artist")
        let changes = try #require(try log.transactions().first?.changes)
        #expect(
            changes.map { "\($0.entity.name)/\($0.key)" } == ["Artist/5", "Album/7", "Album/8"])
        #expect(changes[1].cause == .cascade(entity: 2, key: ObjectKey(5)))
        #expect(changes.map(\.seq) == [1, 2, 3])
    }

    @Test func deletesOfTwoStatementsAreNoCascade() throws {
        try log.log(1, .delete, time: 2_461_041.5, 7, "a", 5)
        try log.log(2, .delete, time: 2_461_041.6, 5, "artist")
        #expect(try log.net() == ["delete Album/7", "delete Artist/5"])
    }
}

@Suite struct TransactionAssemblerTests {
    private let log: LogFixture

    init() throws { log = try LogFixture() }

    private func marker(_ author: Value, context: Value = .null, pid: Value = .null) throws {
        try log.log(0, .marker, m: author == .null ? 1 : 0, pid, author, context)
    }

    @Test func markerNamesAuthorContextAndProcess() throws {
        try marker("importer", context: "nightly", pid: 4711)
        try log.log(1, .insert, 7)
        try marker(.null)
        let transaction = try #require(try log.transactions().first)
        #expect(transaction.who?.author == "importer")
        #expect(transaction.who?.context == "nightly")
        #expect(transaction.who?.process?.pid == 4711)
        #expect(transaction.number == 3)
    }

    @Test func commitsThatRanTogetherSplitAtMarkers() throws {
        try log.log(1, .insert, 1)
        try marker("a")
        try log.log(1, .insert, 2)
        try marker(.null)
        try log.log(1, .insert, 3)
        try marker("b")
        try log.log(1, .insert, 4)
        let found = try log.transactions([Boundary(last: log.seq, isExact: false)])
        #expect(found.map(\.number) == [1, 4, 5, 7])
        #expect(found.map(\.who?.author) == [nil, "a", nil, "b"])
        #expect(
            found.map(\.flags) == [
                .coalesced, [], .coalesced, [.coalesced, .authorUncertain],
            ])
    }

    @Test func beginMarkersAloneKeepTheirAuthorsWhereCommitsRanTogether() throws {
        for author in ["ann", "ben"] {
            try marker(.text(author), context: "import", pid: 7)
            try log.log(1, .insert, author == "ann" ? 1 : 2)
        }
        let found = try log.transactions([Boundary(last: log.seq, isExact: false)])
        #expect(found.map(\.who?.author) == ["ann", "ben"])
        #expect(found.map(\.who?.context) == ["import", "import"])
        #expect(found.map(\.who?.process?.pid) == [7, 7])
        #expect(found.allSatisfy { $0.flags == [.coalesced, .authorUncertain] })
    }

    @Test func authorOfAPartOfACommitIsUncertain() throws {
        try log.log(1, .insert, 1)
        try marker("a")
        try log.log(1, .insert, 2)
        let found = try log.transactions()
        #expect(found.map(\.flags) == [.authorUncertain])
        #expect(found.map(\.who?.author) == ["a"])
    }

    @Test func commitsThatRanTogetherKeepWhatCameAndWent() throws {
        try log.log(1, .insert, 1)
        try log.log(1, .delete, 1, "gone", 2)
        try log.log(1, .insert, 1)
        let found = try log.transactions([Boundary(last: log.seq, isExact: false)])
        let changes = try #require(found.first?.changes)
        #expect(changes.map(\.kind) == [.insert, .delete, .insert])
        #expect(changes[1].kept == ["gone", 2])
    }

    @Test func exactBoundariesAreNeverSplitByMarkers() throws {
        try log.log(1, .insert, 1)
        try marker("a")
        try log.log(1, .insert, 2)
        try marker(.null)
        #expect(try log.transactions().count == 1)
    }

    @Test func commitsWithoutNetChangeLeaveNoTransaction() throws {
        try marker("a")
        try marker(.null)
        #expect(try log.transactions().isEmpty)
    }

    @Test func nonsenseRowsArePassedOver() throws {
        try RawTransaction.execute(
            "INSERT INTO syncd_log(seq, op, pk) "
                + "VALUES (1,'junk',1), (2,-5,1), (3,8000,1), (4,NULL,2)", on: log.connection)
        #expect(try log.transactions([Boundary(last: 4, isExact: true)]).isEmpty)
    }
}
