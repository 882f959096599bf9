import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// Parts of transactions: joined they are the transaction, from wherever the reader goes on.
@Suite struct PartTests {
    private func makeStore() throws -> (TestDatabase, Store) {
        let database = try TestDatabase(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, b BLOB)",
            "CREATE TABLE other(id INTEGER PRIMARY KEY, n)")
        return (database, try database.store(["item": CaptureOptions(undo: true)]))
    }

    private func parts(
        _ store: Store, _ query: HistoryQuery = HistoryQuery(), _ limits: PartLimits,
        from position: PartPosition? = nil
    ) throws -> [Transaction] {
        var parts: [Transaction] = []
        try store.forEachTransaction(matching: query, inParts: limits, from: position) {
            parts.append($0)
            return true
        }
        return parts
    }

    private func joined(_ parts: [Transaction]) -> [Transaction] {
        var result: [Transaction] = []
        for part in parts {
            if let index = part.part?.index, index > 0 {
                result[result.count - 1].changes += part.changes
            } else {
                result.append(part)
            }
            result[result.count - 1].part = nil
        }
        return result
    }

    private func fill(_ database: TestDatabase, _ random: inout SeededRandom) throws {
        for _ in 0..<6 {
            try database.sql("BEGIN")
            for _ in 0..<Int.random(in: 1..<25, using: &random) {
                let id = Int.random(in: 1..<20, using: &random)
                let length = Int.random(in: 0..<200, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1:
                    try database.sql(
                        "INSERT OR IGNORE INTO item VALUES (\(id), 'x', zeroblob(\(length)))")
                case 2: try database.sql("UPDATE item SET a = a || 'y' WHERE id = \(id)")
                case 3: try database.sql("DELETE FROM item WHERE id = \(id)")
                default: try database.sql("INSERT INTO other(n) VALUES (\(id))")
                }
            }
            try database.sql("COMMIT")
        }
    }

    @Test(arguments: TestSeed.each(of: 1...20))
    func partsJoinedAreTheTransactions(seed: TestSeed) throws {
        var random = seed.random
        let (database, store) = try makeStore()
        try fill(database, &random)
        _ = try store.poll()
        if seed.value.isMultiple(of: 2) { _ = try store.digest() }
        for query in queries(try store.history(), &random) {
            let whole = try store.history(query)
            for changesMax in [1, 2, 5, 1000] {
                let limits = PartLimits(
                    changesMax: changesMax, bytesMax: Int.random(in: 100..<2000, using: &random),
                    valueBytesMax: nil)
                let all = try parts(store, query, limits)
                #expect(joined(all) == whole, "\(seed)")
                #expect(all.allSatisfy { $0.changes.count <= changesMax }, "\(seed)")
                expectNumbered(all, seed)
                guard !query.reverse, query.limit == nil else { continue }
                for (index, part) in all.enumerated() {
                    var rest = query
                    rest.after = all[..<index].last { $0.isComplete }?.token ?? query.after
                    let position = index == 0 ? nil : PartPosition(after: all[index - 1])
                    let found = try parts(store, rest, limits, from: position)
                    #expect(found == Array(all[index...]), "\(seed): from \(part.number)")
                }
            }
        }
    }

    private func queries(
        _ history: [Transaction], _ random: inout SeededRandom
    ) -> [HistoryQuery] {
        var entity = HistoryQuery()
        entity.entities = ["item"]
        var kinds = HistoryQuery()
        kinds.kinds = [.delete, .update]
        var object = HistoryQuery()
        object.object = ObjectName(entity: "item", key: ObjectKey(.integer(3)))
        var reverse = HistoryQuery()
        reverse.reverse = true
        reverse.limit = 3
        var after = HistoryQuery()
        after.after = history.randomElement(using: &random)?.token
        return [HistoryQuery(), entity, kinds, object, reverse, after]
    }

    private func expectNumbered(_ parts: [Transaction], _ seed: TestSeed) {
        for (index, transaction) in parts.enumerated() {
            guard let part = transaction.part else { continue }
            let before = index > 0 ? parts[index - 1] : nil
            if part.index > 0 {
                #expect(before?.number == transaction.number, "\(seed)")
                #expect(before?.part?.index == part.index - 1, "\(seed)")
                #expect(before?.part?.isLast == false, "\(seed)")
                #expect(before?.token == transaction.token, "\(seed)")
            } else {
                #expect(!part.isLast, "\(seed): a part without others")
            }
        }
    }

    @Test func largeValuesAreReferences() throws {
        let (database, store) = try makeStore()
        for statement in [
            "INSERT INTO item VALUES (1, 'small', zeroblob(3000000)), (2, 'x', NULL)",
            "UPDATE item SET a = printf('%.*c', 2000000, 'é') WHERE id = 2",
            "UPDATE item SET a = 'y', b = x'01' WHERE id = 2", "DELETE FROM item WHERE id = 1",
        ] {
            try database.sql(statement)
            // Each of them fills the WAL, which then begins again.
            _ = try store.poll()
        }
        for isDigested in [false, true] {
            if isDigested { _ = try store.digest() }
            let history = try parts(store, HistoryQuery(), .message)
            try #require(history.count == 4)
            let old = try #require(history[2].changes.first?.oldValues)
            #expect(old.pairs.map(\.name) == ["b"])
            let text = try #require(old.reference("a"))
            #expect(text.kind == .text && text.bytes > 1 << 20)
            let kept = try #require(history[3].changes.first?.tombstone)
            #expect(kept["a"] == .text("small") && kept["b"] == nil)
            let blob = try #require(kept.reference("b"))
            #expect(
                blob
                    == ValueReference(
                        transaction: history[3].number, change: history[3].changes[0].seq,
                        property: "b", kind: .blob, bytes: 3_000_000))
            #expect(try store.value(at: blob).bytes == [UInt8](repeating: 0, count: 3_000_000))
            let slice = try store.value(at: blob, offset: 2_999_990, count: 100)
            #expect(slice.bytes.count == 10 && slice.reference == blob)
            #expect(try store.value(at: text).bytes.count == text.bytes)
            let whole = try store.history()
            #expect(
                whole[3].changes[0].tombstone?["b"] == .blob(.init(repeating: 0, count: 3_000_000)))
        }
    }

    @Test func aReferenceThatNamesNothingIsRefused() throws {
        let (database, store) = try makeStore()
        try database.sql("INSERT INTO item VALUES (1, 'a', NULL)")
        try database.sql("DELETE FROM item WHERE id = 1")
        let last = try #require(try store.history().last)
        func reference(_ number: Int64, _ change: Int64, _ property: String) -> ValueReference {
            ValueReference(
                transaction: number, change: change, property: property, kind: .blob, bytes: 0)
        }
        let seq = last.changes[0].seq
        for wrong in [
            reference(last.number + 7, seq, "a"), reference(last.number, seq + 1, "a"),
            reference(last.number, seq, "nothing"), reference(last.number, seq, "id"),
            reference(last.number, seq, "b"), reference(last.number, -1, "a"),
        ] {
            #expect(throws: SyncError(.invalidArgument, ""), "\(wrong)") {
                try store.value(at: wrong)
            }
        }
        try database.sql("INSERT INTO item VALUES (2, 'a', NULL)")
        _ = try store.digest()
        _ = try store.purge(before: try store.head(), force: true)
        #expect(throws: SyncError(.historyExpired, "")) {
            try store.value(at: reference(last.number, seq, "a"))
        }
    }

    /// Many values that are large together: the message stays bounded.
    @Test func theValuesOfOneChangeAreBoundedTogether() throws {
        let columns = (0..<30).map { "c\($0)" }
        let database = try TestDatabase(
            "CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")))")
        let store = try database.store()
        let values = columns.map { _ in "zeroblob(900000)" }.joined(separator: ", ")
        try database.sql("INSERT INTO wide VALUES (1, \(values))")
        _ = try store.poll()
        try database.sql("DELETE FROM wide")
        let history = try parts(store, HistoryQuery(), .message)
        let kept = try #require(history.last?.changes.first?.tombstone)
        #expect(kept.references.count == 29 && kept.pairs.count == 2)
    }
}
