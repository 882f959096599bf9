import SyncTesting
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

    /// With recursive_triggers a victim of `UPDATE OR REPLACE` is logged twice (found by replay,
    /// seed 45).
    @Test(arguments: [LogKind.delete, .replace]) func aDeleteThatIsLoggedTwiceIsOne(
        _ second: LogKind
    ) throws {
        try log.log(1, .insert, 7)
        try log.log(1, .replace, m: 0, 7, "t", 1)
        try log.log(1, second, m: 0, 7, "t", 1)
        #expect(try log.transactions().isEmpty)
        try log.log(1, .insert, 7)
        #expect(try log.net() == ["insert Album/7"])
    }

    @Test func replaceOfWhatVanishedIsAnInsert() throws {
        try log.log(1, .insert, 7)
        try log.log(1, .delete, 7, "t", 1)
        try log.log(1, .replace, m: 1, 7, "t", 1)
        #expect(try log.transactions().isEmpty)
        try log.log(1, .insert, 7)
        #expect(try log.net() == ["insert Album/7"])
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

    // MARK: Changes of a key

    /// The log of `UPDATE Pair SET A = to WHERE A = from`, with B = 0.
    private func rename(_ from: Int64, to new: Int64) throws {
        try log.log(3, .delete, .integer(from), 0, "note")
        try log.log(3, .renumber, .integer(from), 0, .integer(new), 0)
        try log.log(3, .insert, .integer(new), 0)
    }

    /// `delete 1 > 3`: renumbered, with the other key.
    private func keyChanges(isExact: Bool = true) throws -> [String] {
        try log.transactions([Boundary(last: log.seq, isExact: isExact)]).flatMap(\.changes).map {
            let text = "\($0.kind.name) \($0.key.values[0])"
            guard case .renumbered(let other) = $0.cause else { return text }
            return "\(text) > \(other.values[0])"
        }
    }

    @Test func chainOfKeyChangesNamesItsEnds() throws {
        try rename(1, to: 2)
        try rename(2, to: 3)
        #expect(try keyChanges() == ["delete 1 > 3", "insert 3 > 1"])
    }

    @Test func swapThroughATemporaryKeyNamesTheRealKeys() throws {
        try rename(1, to: 9)
        try rename(2, to: 1)
        try rename(9, to: 2)
        #expect(
            try keyChanges() == ["delete 1 > 2", "delete 2 > 1", "insert 1 > 2", "insert 2 > 1"])
    }

    @Test func newRowThatChangesItsKeyIsAPlainInsert() throws {
        try log.log(3, .insert, 1, 0)
        try rename(1, to: 2)
        #expect(try keyChanges() == ["insert 2"])
    }

    @Test func rowThatChangesItsKeyAndGoesIsAPlainDelete() throws {
        try rename(1, to: 2)
        try log.log(3, .delete, 2, 0, "note")
        #expect(try keyChanges() == ["delete 1"])
    }

    @Test func keyThatComesBackIsNoChangeOfAKey() throws {
        try rename(1, to: 2)
        try rename(2, to: 1)
        #expect(try keyChanges() == ["delete 1 > 1", "insert 1 > 1"])
    }

    /// The key 1 is taken over by a new row, which goes on to another key itself.
    @Test func keyThatIsTakenOverKeepsBothApart() throws {
        try rename(1, to: 2)
        try log.log(3, .insert, 1, 0)
        try rename(1, to: 3)
        #expect(try keyChanges() == ["delete 1 > 2", "insert 2 > 1", "insert 3"])
    }

    /// 1 takes the place of 2 by REPLACE, and then goes on to 3: 2 is deleted, 1 became 3.
    @Test func rowThatReplacedAnotherKeepsItsOwnKey() throws {
        try log.log(3, .replace, m: 1, 2, 0, "victim")
        try rename(1, to: 2)
        try rename(2, to: 3)
        #expect(try keyChanges() == ["delete 2", "delete 1 > 3", "insert 3 > 1"])
    }

    /// Where commits ran together, each key was seen.
    @Test func chainOfCommitsThatRanTogetherNamesEachKey() throws {
        try rename(1, to: 2)
        try rename(2, to: 3)
        #expect(
            try keyChanges(isExact: false)
                == ["delete 1 > 2", "insert 2 > 1", "delete 2 > 3", "insert 3 > 2"])
    }

    // MARK: Tombstones

    @Test func tombstoneHasTheValuesBeforeTheTransaction() throws {
        try log.log(2, .update, m: 2, 7, .null, "first")
        try log.log(2, .delete, 7, "second")
        #expect(try log.transactions().first?.changes.map(\.kept) == [["first"]])
    }

    @Test func tombstoneOfCommitsThatRanTogetherHasTheLastValues() throws {
        try log.log(2, .update, m: 2, 7, .null, "first")
        try log.log(2, .delete, 7, "second")
        let found = try log.transactions([Boundary(last: log.seq, isExact: false)])
        #expect(found.first?.changes.map(\.kept) == [["second"]])
    }

    @Test func tombstoneOfASignedCommitAmongOthersHasTheValuesBeforeIt() throws {
        try log.log(0, .marker, m: 0, .null, "ann")
        try log.log(2, .update, m: 2, 7, .null, "first")
        try log.log(2, .delete, 7, "second")
        try log.log(0, .marker, m: 1)
        let found = try log.transactions([Boundary(last: log.seq, isExact: false)])
        #expect(found.first?.changes.map(\.kept) == [["first"]])
    }

    @Test func tombstoneOfAReplacedObjectHasTheValuesBefore() throws {
        try log.log(1, .replace, m: 1, 7, "before", 1)
        try log.log(1, .insert, 7)
        try log.log(1, .delete, 7, "after", 2)
        #expect(try log.transactions().first?.changes.map(\.kept) == [["before", 1]])
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

    @Test func columnsThatATableDoesNotHaveArePassedOver() throws {
        try log.log(2, .update, m: .integer(1 << 40 | 2), 1, .null, "before")
        let change = try #require(try log.transactions().first?.changes.first)
        #expect(change.mask.positions == [1])
        #expect(change.old == ["before"])
    }

    /// Every writer of the database can write any row into its log.
    @Test(arguments: TestSeed.each(of: 1...60))
    func anyRowsAreRead(seed: TestSeed) throws {
        var random = seed.random
        func value() -> Value {
            [
                .null, .integer(.random(in: 0...3, using: &random)), "a", .real(0.5),
                .integer(.random(in: .min ... .max, using: &random)), .blob([0xFF]), .real(1e300),
            ].randomElement(using: &random) ?? .null
        }
        for _ in 0..<Int.random(in: 1..<60, using: &random) {
            let kind = LogKind(rawValue: .random(in: 0..<8, using: &random)) ?? .update
            let values = (0..<7).map { _ in value() }
            try log.log(
                .random(in: 0...5, using: &random), kind, m: value(), values[0], values[1],
                values[2], values[3], values[4], values[5], values[6])
        }
        for isExact in [true, false] {
            let boundary = Boundary(last: log.seq, isExact: isExact)
            let found = try log.transactions([boundary])
            let catalog = try EntityCatalog(log.connection)
            for transaction in found {
                var header = transaction
                header.unassembled = .init(keepsVanished: !isExact)
                let reader = try LogReader(log.connection, catalog: catalog)
                let large = LargeTransaction(header, from: reader)
                while let slice = try large.nextSlice() {
                    for change in slice { _ = change.packedData }
                }
            }
        }
    }
}
