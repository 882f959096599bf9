import Foundation
import SyncValues

/// Makes the objects of a file those of an earlier version: no record is in the compact form
/// (`syncd_object.record`), and what was written after a place is found by an index.
enum EarlierRecords {
    private static let bits = 128 + 512

    /// Rewrites all records of a store that no replica has open.
    /// - Throws: ``SimulationFailure`` for a record that is not as the format has it.
    /// - Complexity: O(facts)
    static func write(in database: WriterDatabase) throws {
        let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'syncd_object'"
        guard try database.run(tables) == [[1]] else { return }
        let rows = try database.run(
            """
            SELECT o.id, s.cells, o.record FROM syncd_object o JOIN syncd_shape s ON s.id = o.shape
            """)
        for row in rows ?? [] {
            guard case .text(let cells) = row[1], case .blob(let record) = row[2] else {
                throw SimulationFailure("a record is \(row[2])")
            }
            let names = try JSONDecoder().decode([[String]].self, from: Data(cells.utf8))
            guard let earlier = try earlier(record, widths: names.map(\.count)) else { continue }
            try database.run(
                "UPDATE syncd_object SET record = ? WHERE id = ?", with: [.blob(earlier), row[0]])
        }
        try database.run("DROP TABLE IF EXISTS syncd_extent")
        try database.run("CREATE INDEX IF NOT EXISTS syncd_object_place ON syncd_object(place)")
        try database.run("UPDATE syncd_meta SET value = value & ~\(bits) WHERE key = 'writes'")
    }

    /// - Returns: nil for a record that is not compact.
    private static func earlier(_ record: [UInt8], widths: [Int]) throws -> [UInt8]? {
        var reader = ByteReader(record)
        guard try reader.varint() == 1 else { return nil }
        let head = try reader.varint()
        guard head & 3 == 3 else { return nil }
        let created = try raw(&reader) { _ = (try $0.varint(), try $0.varint()) }
        var writer = ByteWriter()
        writer.append(raw: [1, 0, 1] as [UInt8])
        writer.append(raw: created)
        writer.append(varint: UInt64(widths.count))
        for (cell, width) in widths.enumerated() {
            var dot = created
            if cell < 62, head >> UInt64(cell + 2) & 1 == 1 {
                dot = try raw(&reader) { _ = (try $0.varint(), try $0.varint()) }
                guard dot != created else {
                    throw SimulationFailure("a compact record repeats a transaction")
                }
            }
            writer.append(byte: 1)
            writer.append(raw: dot)
            writer.append(byte: 1)
            for _ in 0..<width { writer.append(raw: try raw(&reader, readField)) }
        }
        guard reader.isAtEnd else { throw SimulationFailure("a record is too long") }
        return writer.bytes
    }

    private static func readField(_ reader: inout ByteReader) throws {
        let tag = try reader.byte()
        if tag == 5 {
            _ = (try reader.raw(16), try reader.varint())
        } else {
            _ = try reader.value(tag: tag)
        }
    }

    /// The bytes that `read` reads.
    private static func raw(
        _ reader: inout ByteReader, _ read: (inout ByteReader) throws -> Void
    ) throws -> [UInt8] {
        var rest = reader
        try read(&rest)
        let count = rest.position - reader.position
        return Array(try reader.raw(count))
    }
}
