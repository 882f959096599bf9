import SyncValues

/// What the sender of a batch calls an entity and its columns, where that is not what facts call
/// them; and which of them it has dropped, so that a clone gives their names to nothing else.
package struct EntityNames: Sendable, Hashable {
    /// The ``SchemaIdentity`` of the entity.
    package var entity: String
    /// The name of the table, or of one that was dropped; nil: another one has this name since.
    package var name: String?
    /// The columns that have another name than their identity, by identity; nil: dropped.
    package var columns: [String: String?]

    /// Describes an entity.
    package init(entity: String, name: String?, columns: [String: String?] = [:]) {
        self.entity = entity
        self.name = name
        self.columns = columns
    }

    /// Whether a table or column of the sender has another name than its identity: more than that
    /// some were dropped.
    package var isRenamed: Bool {
        name.map { $0.utf8.elementsEqual(entity.utf8) } != true
            || columns.values.contains { $0 != nil }
    }

    /// The columns in the order in which they are sent.
    fileprivate var sorted: [(identity: String, name: String?)] {
        columns.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            .map { ($0.key, $0.value) }
    }
}

/// The names of a batch as bytes, after the extras: docs/batch-format.md.
enum NameColumns {
    static func write(_ names: [EntityNames], to content: inout ByteWriter) {
        let names = names.sorted { $0.entity.utf8.lexicographicallyPrecedes($1.entity.utf8) }
        content.append(varint: UInt64(names.count))
        for entity in names {
            content.append(counted: Array(entity.entity.utf8))
            append(entity.name, to: &content)
            content.append(varint: UInt64(entity.columns.count))
            for column in entity.sorted {
                content.append(counted: Array(column.identity.utf8))
                append(column.name, to: &content)
            }
        }
    }

    private static func append(_ name: String?, to content: inout ByteWriter) {
        content.append(byte: name == nil ? 0 : 1)
        if let name { content.append(counted: Array(name.utf8)) }
    }

    private static func name(from reader: inout ByteReader) throws -> String? {
        try reader.index(below: 2) == 1 ? try reader.text() : nil
    }

    /// - Throws: `badData` for identities that are empty or not in order.
    static func read(from reader: inout ByteReader) throws -> [EntityNames] {
        var names: [EntityNames] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
            let identity = try identity(from: &reader, after: names.last?.entity)
            var entity = EntityNames(entity: identity, name: try name(from: &reader))
            var last: String?
            for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
                let column = try Self.identity(from: &reader, after: last)
                entity.columns[column] = .some(try name(from: &reader))
                last = column
            }
            names.append(entity)
        }
        return names
    }

    private static func identity(
        from reader: inout ByteReader, after last: String?
    ) throws -> String {
        let identity = try reader.text()
        let isNext = last.map { $0.utf8.lexicographicallyPrecedes(identity.utf8) } ?? true
        guard !identity.isEmpty, isNext else {
            throw SyncError(.badData, "the names of a batch are not in order")
        }
        return identity
    }
}

extension Batch {
    /// Whether the sender has another name for a table or column than facts.
    package var isRenamed: Bool { names.contains(where: \.isRenamed) }

    /// Whether the names are sent: a batch of version 1 has them only where a new replica begins
    /// with it, because programs of before refuse it then.
    func sendsNames(isSigned: Bool) -> Bool {
        !names.isEmpty && (isSigned || !extras.schema.isEmpty)
    }
}
