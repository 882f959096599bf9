import SyncValues

/// The items whose hashes are summed: what an object's facts and a store's aliases are, in one form
/// on all replicas, whatever numbers and positions they are stored under.
///
/// Entities and columns are named by the hash of their folded names, replicas by their identifiers,
/// and what has no order is sorted. docs/merge-design.md, *Sums*.
///
/// What is left out
/// - Objects that a delete of their newest incarnation may have ended: when such an object is
///   collected differs between replicas.
/// - Versions with the default of their columns: where a column was added, which transactions its
///   default is attributed to depends on the moment of the migration.
package struct FactItems: Sendable {
    /// Bytes of an object of some columns, so that they are not moved while they are put together.
    private static let usualBytes = 256

    private let hash: SipHash
    private let entities: [Entity]

    /// What an item needs to know of an entity.
    package final class Entity: Sendable {
        /// The hash of its name.
        package let name: UInt64
        /// The columns that facts are about, in the order of the hashes of their names.
        package let columns: [Column]
        /// The number of columns of the widest cell.
        package let widthMax: Int
        let structure: UInt64

        /// A column, without an array of its own: it is looked at for each row.
        package struct Column: Sendable {
            /// Its cell, and its place in that.
            package let cell: Int
            package let place: Int
            /// The hash of its name.
            package let name: UInt64
            /// Its default.
            package let defaultField: Field
            /// Whether it is a cell by itself whose default is NULL, as nearly all are.
            package let isPlain: Bool
        }

        fileprivate init(name: UInt64, columns: [Column], structure: UInt64) {
            self.name = name
            self.columns = columns.sorted { $0.name < $1.name }
            widthMax = (columns.map(\.place).max() ?? 0) + 1
            self.structure = structure
        }
    }

    /// The items of a store's objects.
    /// - Complexity: O(columns)
    package init(_ schema: MergeSchema, store: StoreID) {
        let hash = SipHash(key: store.bytes)
        self.hash = hash
        entities = schema.entities.map { entity in
            let columns = entity.cells.enumerated().flatMap { cell, members in
                members.enumerated().map { place, column in
                    let described = entity.columns[column]
                    return Entity.Column(
                        cell: cell, place: place,
                        name: Self.name([Collation.lowercased(described.name)], hash),
                        defaultField: .value(described.defaultValue),
                        isPlain: members.count == 1 && described.defaultValue == .null)
                }
            }
            return Entity(
                name: Self.name([Collation.lowercased(entity.name)], hash), columns: columns,
                structure: Self.structure(of: entity, in: schema, hash))
        }
    }

    private static func name(_ names: [String], _ hash: SipHash) -> UInt64 {
        var writer = ByteWriter()
        for name in names { writer.append(counted: Array(name.utf8)) }
        return UInt64(truncatingIfNeeded: hash.hash(writer.bytes))
    }

    /// The columns of an entity with their defaults and references. Which of them are one cell
    /// changes no fact.
    private static func structure(
        of entity: MergeEntity, in schema: MergeSchema, _ hash: SipHash
    ) -> UInt64 {
        var columns: [String] = []
        for members in entity.cells {
            for column in members {
                var writer = ByteWriter()
                writer.append(entity.columns[column].defaultValue)
                for reference in entity.references {
                    guard let part = reference.columns.firstIndex(of: column) else { continue }
                    let target = Collation.lowercased(schema.entities[reference.target].name)
                    writer.append(counted: Array("\(target) \(part)".utf8))
                }
                let name = Collation.lowercased(entity.columns[column].name)
                columns.append("\(name) \([name]) \(writer.bytes)")
            }
        }
        let identity = entity.sharesNumbers ? "shared" : entity.isPrivate ? "private" : "key"
        return name([identity] + columns.sorted(), hash)
    }

    /// What items need to know of an entity.
    package func entity(_ position: Int) -> Entity { entities[position] }

    /// The hash of an item that was put together elsewhere.
    package func hash(ofItem bytes: UnsafeRawBufferPointer) -> UInt128 { hash.hash(bytes) }

    /// The hash of an entity's name.
    package func name(of entity: Int) -> UInt64 { entities[entity].name }

    /// The hash of what the items of an entity depend on: sums of two replicas are comparable where
    /// it is equal.
    package func structure(of entity: Int) -> UInt64 { entities[entity].structure }

    /// The hash of some text, under the key of the store.
    package func hash(ofText text: String) -> UInt64 { Self.name([text], hash) }

    /// The hash of an object's facts; 0 for one that is not counted.
    /// - Complexity: O(facts of the object)
    package func facts(_ uid: ObjectUID, _ record: ObjectRecord) -> UInt128 {
        guard isCounted(record) else { return 0 }
        let entity = entities[record.entity]
        // Deletes, and lives before the newest one, may have been collected elsewhere.
        let newest = record.incarnation
        var writer = ByteWriter(capacity: Self.usualBytes)
        writer.append(byte: 1)
        append(uid, to: &writer)
        append(entity.name, to: &writer)
        append(record.life, of: newest, to: &writer)
        for column in entity.columns { append(record.cells[column.cell], column, to: &writer) }
        return hash.hash(writer.bytes)
    }

    private func append(_ lives: [Life], of incarnation: Int, to writer: inout ByteWriter) {
        // Most objects have one, and need no list of their own.
        if lives.count == 1, lives[0].incarnation == incarnation, lives[0].kind != .deleted {
            writer.append(varint: 1)
            Self.append(lives[0], to: &writer)
            return
        }
        let counted = lives.filter { $0.incarnation == incarnation && $0.kind != .deleted }
        writer.append(varint: UInt64(counted.count))
        for life in Self.sorted(counted.map(Self.bytes)) { writer.append(raw: life) }
    }

    /// The versions that state something else of a column than its default.
    private func append(
        _ versions: [Version], _ column: Entity.Column, to writer: inout ByteWriter
    ) {
        func isStated(_ version: Version) -> Bool {
            let field = version.value[column.place]
            return field != .unstated && field != column.defaultField
        }
        // Most cells have one.
        if versions.count == 1 {
            guard isStated(versions[0]) else { return }
            append(column.name, to: &writer)
            writer.append(varint: 1)
            append(versions[0], in: column.place, to: &writer)
            return
        }
        let versions = versions.filter(isStated)
        if versions.isEmpty { return }
        append(column.name, to: &writer)
        writer.append(varint: UInt64(versions.count))
        if versions.count == 1 {
            append(versions[0], in: column.place, to: &writer)
            return
        }
        let all = versions.map { version in
            var writer = ByteWriter()
            append(version, in: column.place, to: &writer)
            return writer.bytes
        }
        for version in Self.sorted(all) { writer.append(counted: version) }
    }

    /// The hash of how an object is shown that is not shown as it was recorded.
    /// - Parameter hasRow: whether a row bears its name.
    package func shown(_ uid: ObjectUID, entity: Int, hasRow: Bool) -> UInt128 {
        var writer = ByteWriter()
        writer.append(byte: 3)
        append(uid, to: &writer)
        append(entities[entity].name, to: &writer)
        writer.append(byte: hasRow ? 1 : 0)
        return hash.hash(writer.bytes)
    }

    /// The hash of an alias.
    package func alias(_ alias: MergeState.Alias, dot: Dot) -> UInt128 {
        var writer = ByteWriter()
        writer.append(byte: 2)
        append(alias.first, to: &writer)
        append(alias.second, to: &writer)
        Self.append(dot, to: &writer)
        return hash.hash(writer.bytes)
    }

    // MARK: Parts

    /// Whether an object is alive whatever the policies are: an insert of its newest incarnation
    /// had not been seen by a delete, or there is no delete.
    private func isCounted(_ record: ObjectRecord) -> Bool {
        let newest = record.incarnation
        var (hasDelete, hasInsert, hasAny) = (false, false, false)
        for life in record.life where life.incarnation == newest {
            hasAny = true
            if life.kind == .deleted { hasDelete = true }
            if life.kind == .created { hasInsert = true }
        }
        return hasAny && (hasInsert || !hasDelete)
    }

    private func append(_ uid: ObjectUID, to writer: inout ByteWriter) {
        append(uid.high, to: &writer)
        append(uid.low, to: &writer)
    }

    private func append(_ word: UInt64, to writer: inout ByteWriter) {
        Self.append(word, to: &writer)
    }

    private func append(_ version: Version, in place: Int, to writer: inout ByteWriter) {
        Self.append(version.dot, to: &writer)
        writer.append(varint: UInt64(version.incarnation))
        switch version.value[place] {
        case .value(let value): writer.append(value)
        case .reference(let uid, let part):
            writer.append(byte: 5)
            append(uid, to: &writer)
            writer.append(varint: UInt64(part))
        case .unstated: break
        }
    }

    private static func bytes(_ life: Life) -> [UInt8] {
        var writer = ByteWriter()
        append(life, to: &writer)
        return writer.bytes
    }

    private static func append(_ life: Life, to writer: inout ByteWriter) {
        writer.append(byte: life.kind.rawValue)
        writer.append(varint: UInt64(life.incarnation))
        append(life.dot, to: &writer)
    }

    private static func append(_ dot: Dot, to writer: inout ByteWriter) {
        append(dot.replica.high, to: &writer)
        append(dot.replica.low, to: &writer)
        append(UInt64(bitPattern: dot.number), to: &writer)
    }

    /// Eight bytes, big endian.
    private static func append(_ word: UInt64, to writer: inout ByteWriter) {
        writer.append(bigEndian: word)
    }

    private static func sorted(_ items: [[UInt8]]) -> [[UInt8]] {
        items.count < 2 ? items : items.sorted { $0.lexicographicallyPrecedes($1) }
    }
}
