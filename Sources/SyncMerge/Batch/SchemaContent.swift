import Crypto
import SyncValues

/// The schema of a database at one moment: its objects, and the settings of the file that programs
/// rely on.
package struct SchemaContent: Sendable, Hashable {
    /// Bytes of an encoded schema. A larger one is not sent: a new replica gets the tables and
    /// indexes of the snapshot.
    package static let bytesMax = 4 << 20

    /// What `PRAGMA` says of the file.
    package struct Settings: Sendable, Hashable {
        /// `user_version`.
        package var userVersion: Int64 = 0
        /// `application_id`.
        package var applicationID: Int64 = 0
        /// `page_size`.
        package var pageSize: Int64 = 4096
        /// `encoding`: `UTF-8`, `UTF-16le`, `UTF-16be`.
        package var encoding = "UTF-8"
        /// `auto_vacuum`: 0, 1 or 2.
        package var autoVacuum: Int64 = 0

        /// The settings of a new database.
        package init() {}
    }

    /// The objects, in the order in which they were made.
    package var objects: [SchemaObject]
    /// The settings of the file.
    package var settings: Settings
    /// `sqlite_sequence` of the tracked tables: the greatest number that each ever had.
    package var sequences: [String: Int64]
    /// What facts call the tables and columns, where that is not their name, and what was dropped;
    /// nil: not stated, as by earlier programs. A table that is not named is called by its name.
    package var names: [EntityNames]?

    /// Describes a schema.
    package init(
        _ objects: [SchemaObject], settings: Settings = Settings(),
        sequences: [String: Int64] = [:], names: [EntityNames]? = nil
    ) {
        self.objects = objects
        self.settings = settings
        self.sequences = sequences
        self.names = names
    }

    /// Equal for schemas with the same objects, in whatever order they were made, `user_version`,
    /// `application_id` and names.
    /// - Complexity: O(n log n) in the objects
    package var hash: [UInt8] {
        var writer = ByteWriter()
        for object in objects.map(Self.encoded).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            writer.append(counted: object)
        }
        writer.append(signed: settings.userVersion)
        writer.append(signed: settings.applicationID)
        if let names, !names.isEmpty { NameColumns.write(names, to: &writer) }
        return Array(SHA256.hash(data: writer.bytes).prefix(16))
    }

    // MARK: Coding

    /// Version 2 ends with the names; a schema without them is of version 1.
    private static let versions: ClosedRange<UInt8> = 1...2

    /// The bytes of the schema.
    package var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.append(byte: names == nil ? 1 : 2)
        writer.append(signed: settings.userVersion)
        writer.append(signed: settings.applicationID)
        writer.append(signed: settings.pageSize)
        writer.append(counted: Array(settings.encoding.utf8))
        writer.append(signed: settings.autoVacuum)
        writer.append(varint: UInt64(objects.count))
        for object in objects { writer.append(raw: Self.encoded(object)) }
        writer.append(varint: UInt64(sequences.count))
        for (name, number) in sequences.sorted(by: { $0.key < $1.key }) {
            writer.append(counted: Array(name.utf8))
            writer.append(signed: number)
        }
        if let names { NameColumns.write(names, to: &writer) }
        return writer.bytes
    }

    static func encoded(_ object: SchemaObject) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(byte: object.kind.rawValue)
        writer.append(byte: object.isTracked ? 1 : 0)
        for text in [object.name, object.table, object.sql] {
            writer.append(counted: Array(text.utf8))
        }
        return writer.bytes
    }

    /// Reads a schema.
    /// - Throws: `badData`; `newerFormat` for a version that this code does not know.
    package init(_ bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        guard bytes.count <= Self.bytesMax else {
            throw SyncError(.badData, "a schema of a batch is too large")
        }
        let version = try reader.byte()
        guard Self.versions.contains(version) else {
            throw SyncError(
                .newerFormat,
                "the batch has a schema of version \(version), this program reads versions up to "
                    + "\(Self.versions.upperBound)",
                hint: "Update syncd on this machine")
        }
        settings = Settings()
        settings.userVersion = try reader.signed()
        settings.applicationID = try reader.signed()
        settings.pageSize = try reader.signed()
        settings.encoding = try reader.text(atMost: 16)
        settings.autoVacuum = try reader.signed()
        objects = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
            guard let kind = SchemaObject.Kind(rawValue: try reader.byte()) else {
                throw SyncError(.badData, "a schema has an object of an unknown kind")
            }
            let isTracked = try reader.index(below: 2) == 1
            let name = try reader.text()
            let table = try reader.text()
            objects.append(
                SchemaObject(
                    kind, name: name, table: table, sql: try reader.text(), isTracked: isTracked))
        }
        sequences = [:]
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
            let name = try reader.text()
            sequences[name] = try reader.signed()
        }
        if version > 1 { names = try NameColumns.read(from: &reader) }
        guard reader.isAtEnd else { throw SyncError(.badData, "a schema has a tail") }
    }
}
