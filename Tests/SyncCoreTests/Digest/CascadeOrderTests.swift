import Testing

@testable import SyncCore
@testable import SyncValues

/// What a transaction tells of deletes that took others along.
@Suite struct CascadeOrderTests {
    /// Entity 1 `Album`, child of entity 2 `Artist`; entity 4 `Track`, child of `Album`.
    private let log: LogFixture

    init() throws { log = try LogFixture() }

    private func begin(_ entity: Int64, _ key: Int64, time: Double = 1) throws {
        try log.log(entity, .deleting, time: time, .integer(key))
    }

    /// The end of a delete that began.
    private func end(_ entity: Int64, _ key: Int64, of parent: Int64 = 0, time: Double = 1) throws {
        if entity == 2 {
            try log.log(2, .delete, m: 1, time: time, .integer(key), "artist")
        } else {
            try log.log(entity, .delete, m: 1, time: time, .integer(key), "t", .integer(parent))
        }
    }

    private func delete(_ entity: Int64, _ key: Int64, of parent: Int64, time: Double = 1) throws {
        try log.log(entity, .delete, time: time, .integer(key), "t", .integer(parent))
    }

    /// `-Album/10 < 1`: a delete, by the cascade of `1`; `+` an insert, `*` an update.
    private func told(isExact: Bool = true) throws -> [String] {
        let found = try log.transactions([Boundary(last: log.seq, isExact: isExact)])
        let changes = found.flatMap(\.changes)
        #expect(changes.map(\.seq) == changes.map(\.seq).sorted())
        #expect(Set(changes.map(\.seq)).count == changes.count)
        return changes.map { change in
            let sign = change.kind == .insert ? "+" : change.kind == .update ? "*" : "-"
            let text = "\(sign)\(change.entity.name)/\(change.key)"
            guard case .cascade(_, let key) = change.cause else { return text }
            return "\(text) < \(key)"
        }
    }

    @Test func parentsComeFirstAndChildrenInTheirOrder() throws {
        try begin(2, 1)
        try begin(1, 10)
        try delete(4, 100, of: 10)
        try end(1, 10, of: 1)
        try begin(1, 11)
        try delete(4, 101, of: 11)
        try end(1, 11, of: 1)
        try end(2, 1)
        #expect(
            try told() == [
                "-Artist/1", "-Album/10 < 1", "-Track/100 < 10", "-Album/11 < 1", "-Track/101 < 11",
            ])
    }

    /// In the same millisecond, all of it.
    @Test func deleteByNameIsNoCascadeAndStaysInItsPlace() throws {
        try delete(1, 10, of: 5)
        try log.log(1, .insert, time: 1, 10)
        try begin(2, 5)
        try end(2, 5)
        #expect(try told() == ["-Album/10", "+Album/10", "-Artist/5"])
    }

    @Test func rowsOfEarlierTriggersSayNothing() throws {
        try delete(1, 10, of: 5)
        try log.log(2, .delete, time: 1, 5, "artist")
        #expect(try told() == ["-Album/10", "-Artist/5"])
    }

    /// Its key, and its UNIQUE values, are free from its place on.
    @Test func nothingMovesBehindALaterEvent() throws {
        try begin(2, 5)
        try delete(1, 10, of: 5)
        try log.log(1, .insert, time: 1, 12)
        try end(2, 5)
        try log.log(1, .insert, time: 1, 10)
        #expect(try told() == ["-Artist/5", "-Album/10 < 5", "+Album/12", "+Album/10"])
    }

    @Test func parentMovesBeforeTheFirstChangeOfItsChild() throws {
        try log.log(1, .update, m: 2, time: 1, 10)
        try log.log(1, .insert, time: 1, 12)
        try begin(2, 5)
        try delete(1, 10, of: 5)
        try end(2, 5)
        #expect(try told() == ["-Artist/5", "-Album/10 < 5", "+Album/12"])
    }

    @Test func parentNeverMovesBeforeAnEarlierChangeOfItsKey() throws {
        try log.log(1, .update, m: 2, time: 1, 10)
        try log.log(2, .insert, time: 1, 5)
        try begin(2, 5)
        try delete(1, 10, of: 5)
        try end(2, 5)
        #expect(try told(isExact: false) == ["-Album/10 < 5", "+Artist/5", "-Artist/5"])
    }

    /// A key that nobody else has seen is no cause.
    @Test func parentThatCameAndWentIsNoCause() throws {
        try log.log(2, .insert, time: 1, 5)
        try log.log(1, .update, m: 4, time: 1, 10)
        try begin(2, 5)
        try delete(1, 10, of: 5)
        try end(2, 5)
        #expect(try told() == ["-Album/10"])
    }

    /// RAISE(IGNORE) of a BEFORE DELETE trigger keeps the row.
    @Test func deleteThatDidNotHappenTakesNothingAlong() throws {
        try begin(2, 5)
        try delete(1, 10, of: 5)
        #expect(try told() == ["-Album/10"])
        try begin(2, 5)
        try delete(1, 11, of: 5)
        try end(2, 5)
        #expect(try told() == ["-Album/10", "-Artist/5", "-Album/11 < 5"])
    }

    /// A begin of another statement, and a delete by a change of the key.
    @Test func endBelongsToItsOwnStatement() throws {
        try begin(2, 5, time: 1)
        try delete(1, 10, of: 5, time: 2)
        try end(2, 5, time: 2)
        #expect(try told() == ["-Album/10", "-Artist/5"])
    }

    @Test func rowsThatDoNotReferToTheParentAreNoCascade() throws {
        try begin(2, 5)
        try delete(4, 100, of: 10)
        try end(2, 5)
        #expect(try told() == ["-Track/100", "-Artist/5"])
    }

    @Test func childThatIsBackIsDeletedAndInserted() throws {
        try begin(2, 5)
        try delete(1, 10, of: 5)
        try end(2, 5)
        try log.log(1, .insert, time: 1, 10)
        try begin(2, 6)
        try delete(1, 10, of: 6)
        try end(2, 6)
        #expect(try told() == ["-Artist/5", "-Album/10 < 5", "-Artist/6"])
    }
}
