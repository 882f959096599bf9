import Foundation
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_schema`: what each replica stated of its schema, the newest of each; and of this one what
/// was last seen.
///
/// A store without the table is whole: what is missing is stated again with the next change.
/// Statements are prepared when they are used. Confined to its connection's queue.
struct SchemaStorage {
    private let connection: OpaquePointer
    private let replicas: ReplicaNames
    private let settings: Metadata

    /// How far above the newest revision that is known here another one may be. More is forged, and
    /// could leave no revision for the next change.
    private static let revisionStepMax: Int64 = 1_000_000

    init(_ connection: OpaquePointer, replicas: ReplicaNames) {
        self.connection = connection
        self.replicas = replicas
        settings = Metadata(connection)
    }

    /// What replicas state.
    /// - Throws: SQLite errors; `corrupt`, `badData`, `newerFormat` for rows that cannot be read.
    /// - Complexity: O(bytes of the schemas)
    func all() throws -> [SchemaRecord] {
        try records("content") { try SchemaContent($0.blob(4) ?? []) }
    }

    /// The same without the objects of the schemas.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas)
    func statements() throws -> [SchemaRecord] {
        let none: [SchemaObject] = []
        return try records("NULL") { _ in SchemaContent(none) }
    }

    private func records(
        _ column: String, content: (Statement) throws -> SchemaContent
    ) throws -> [SchemaRecord] {
        let select = try Statement(
            "SELECT replica, number, revision, time, \(column) FROM syncd_schema ORDER BY replica",
            on: connection)
        var records: [SchemaRecord] = []
        while try select.step() {
            records.append(
                SchemaRecord(
                    Dot(try replicas.name(of: select.integer(0)), select.integer(1)),
                    revision: select.integer(2), time: select.integer(3),
                    content: try content(select)))
        }
        return records
    }

    /// Stores what a replica states, in place of what it stated before.
    /// - Parameter newestSent: of what this replica states, the newest transaction that another one
    ///   may have. Beyond it nobody has the former statement, whatever has its transaction later.
    /// - Throws: SQLite errors.
    func write(_ record: SchemaRecord, newestSent: Int64 = .max) throws {
        try remember(besides: record, newestSent: newestSent)
        try Statement(
            """
            INSERT INTO syncd_schema(replica, number, revision, time, hash, content)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT(replica) DO UPDATE SET number = excluded.number,
              revision = excluded.revision, time = excluded.time, hash = excluded.hash,
              content = excluded.content
            """, on: connection
        ).run(
            .integer(try replicas.number(of: record.dot.replica)), .integer(record.dot.number),
            .integer(record.revision), .integer(record.time), .blob(record.content.hash),
            .blob(record.content.encoded))
    }

    /// Stores what other replicas state where it is newer than what is known of them.
    /// - Throws: SQLite errors.
    func note(_ records: [SchemaRecord], own: ReplicaID) throws {
        guard !records.isEmpty else { return }
        var known = try all()
        let newest = known.map(\.revision).max() ?? 0
        for record in records
        where record.dot.replica != own && record.revision - newest <= Self.revisionStepMax {
            let place = known.firstIndex { $0.dot.replica == record.dot.replica }
            guard place.map({ known[$0].isOlder(than: record) }) ?? true else { continue }
            try write(record)
            if let place { known[place] = record } else { known.append(record) }
        }
    }

    /// Removes what a replica states.
    /// - Throws: SQLite errors.
    func remove(_ replica: ReplicaID) throws {
        try Statement("DELETE FROM syncd_schema WHERE replica = ?1", on: connection)
            .run(.integer(try replicas.number(of: replica)))
    }

    // MARK: Former statements

    /// What is kept of a statement after its replica has made another one.
    struct Former: Codable {
        /// The replica as hexadecimal digits.
        fileprivate let replica: String
        fileprivate let number: Int64
        let revision: Int64
        let marks: SchemaMarks
        fileprivate var time: Int64?
        /// The encoded schema, for replicas that get its transaction without that of the next
        /// statement: what they merge says that they know it. Nil where there was no room.
        fileprivate var content: Data?

        /// The transaction that it was sent with; nil for what cannot be read.
        var dot: Dot? {
            ReplicaID(replica).map { Dot($0, number) }
        }
    }

    /// Former statements that are kept. What two replicas have changed at the same time is found by
    /// comparing with one that both had seen.
    private static let formerMax = 16

    /// Bytes of the schemas that are kept with them.
    private static let formerBytesMax = 1 << 20

    /// The former statements, the last one at the end.
    /// - Throws: SQLite errors; `DecodingError`.
    func former() throws -> [Former] {
        guard let json = try settings.text(.schemas) else { return [] }
        return try JSONDecoder().decode([Former].self, from: Data(json.utf8))
    }

    /// Those of the former statements that can be sent.
    /// - Throws: as ``former()`` and ``all()``.
    func formerRecords() throws -> [SchemaRecord] {
        try former().compactMap { former in
            guard let dot = former.dot, let time = former.time, let content = former.content else {
                return nil
            }
            return SchemaRecord(
                dot, revision: former.revision, time: time,
                content: try SchemaContent(Array(content)))
        }
    }

    /// Keeps what a replica stated before. One that was never sent was seen by no other replica.
    private func remember(besides record: SchemaRecord, newestSent: Int64) throws {
        let last = try all().first { $0.dot.replica == record.dot.replica }
        guard let last, last.dot != record.dot, last.dot.number <= newestSent else { return }
        let kept = Former(
            replica: last.dot.replica.description, number: last.dot.number,
            revision: last.revision, marks: last.content.marks, time: last.time,
            content: Data(last.content.encoded))
        var all = Array((try former() + [kept]).suffix(Self.formerMax))
        var bytes = 0
        for place in all.indices.reversed() {
            bytes += all[place].content?.count ?? 0
            if bytes > Self.formerBytesMax { all[place].content = nil }
        }
        let json = String(decoding: try Self.encoder.encode(all), as: UTF8.self)
        try settings.set(.schemas, to: .text(json))
    }

    // MARK: This replica

    /// The marks of the schema here when it was last looked at; none: what is here next is no
    /// change; nil: never.
    /// - Throws: SQLite errors; `DecodingError`.
    func seen() throws -> SchemaMarks? {
        guard let json = try settings.text(.structure) else { return nil }
        return try JSONDecoder().decode(SchemaMarks.self, from: Data(json.utf8))
    }

    /// Stores the marks of the schema here.
    /// - Throws: SQLite errors.
    func setSeen(_ marks: SchemaMarks) throws {
        let json = String(decoding: try Self.encoder.encode(marks), as: UTF8.self)
        try settings.set(.structure, to: .text(json))
    }

    /// The same text for the same content, in every run.
    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
