import Testing

@testable import SyncMerge
@testable import SyncValues

/// Schemas in a batch.
@Suite("The schema in a batch")
struct SchemaRecordTests {
    private static let content: SchemaContent = {
        var settings = SchemaContent.Settings()
        settings.userVersion = -7
        settings.encoding = "UTF-16le"
        return SchemaContent(
            [
                SchemaObject(.table, name: "t", sql: "CREATE TABLE t(é)", isTracked: true),
                SchemaObject(.index, name: "i", table: "t", sql: "CREATE INDEX i ON t(é)"),
                SchemaObject(.view, name: "v", sql: "CREATE VIEW v AS SELECT 1"),
            ], settings: settings, sequences: ["t": 9])
    }()

    @Test("is read as it was written; no cut or changed byte is a crash")
    func coding() throws {
        let bytes = Self.content.encoded
        #expect(try SchemaContent(bytes) == Self.content)
        for end in bytes.indices {
            #expect(throws: SyncError.self) { _ = try SchemaContent(Array(bytes[..<end])) }
        }
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 0xff
            _ = try? SchemaContent(changed)
        }
        var named = Self.content
        named.names = [
            EntityNames(entity: "a", name: "t", columns: ["x": "y", "z": nil]),
            EntityNames(entity: "b", name: nil),
        ]
        #expect(try SchemaContent(named.encoded) == named)
        #expect(named.hash != Self.content.hash)
        for end in named.encoded.indices {
            #expect(throws: SyncError.self) { _ = try SchemaContent(Array(named.encoded[..<end])) }
        }
        var newer = bytes
        newer[0] = 3
        #expect(throws: SyncError(.newerFormat, "")) { _ = try SchemaContent(newer) }
    }

    @Test("does not depend on the order in which objects were made")
    func hash() {
        var other = Self.content
        other.objects.reverse()
        #expect(other.hash == Self.content.hash)
        other.objects[0].sql += " "
        #expect(other.hash != Self.content.hash)
    }

    @Test("a changed schema keeps what others have changed since")
    func merging() {
        func view(_ name: String, _ value: Int) -> SchemaObject {
            SchemaObject(.view, name: name, sql: "CREATE VIEW \(name) AS SELECT \(value)")
        }
        let base = SchemaContent([view("a", 1), view("b", 1), view("c", 1), view("d", 1)])
        // Ours: a changed, c dropped, e added. Theirs: b changed, d dropped, f added.
        let ours = SchemaContent([view("a", 2), view("b", 1), view("d", 1), view("e", 1)])
        let theirs = SchemaContent([view("a", 1), view("b", 2), view("c", 1), view("f", 1)])
        let merged = ours.merged(with: theirs, since: base.marks)
        #expect(
            Set(merged.objects) == [view("a", 2), view("b", 2), view("e", 1), view("f", 1)])
        #expect(ours.merged(with: theirs, since: ours.marks).objects == theirs.objects)
    }
}
