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
        /// Columns of each cell in the order of their folded names, as places in the cell.
        package let orders: [[Int]]
        /// The hash of the names of each cell's columns.
        package let cells: [UInt64]
        /// The cells in the order of these hashes.
        package let cellOrder: [Int]
        /// The same cells, with what those of one column need.
        package let ordered: [Cell]
        /// The default of each cell, in the order of the cell.
        package let defaults: [[Field]]
        let structure: UInt64

        /// A cell, without an array of its own: it is looked at for each row.
        package struct Cell: Sendable {
            /// Its position in the entity.
            package let position: Int
            /// The hash of the names of its columns.
            package let name: UInt64
            /// Whether it is one column whose default is NULL, as nearly all are.
            package let isPlain: Bool
        }

        fileprivate init(
            name: UInt64, orders: [[Int]], cells: [UInt64], defaults: [[Field]], structure: UInt64
        ) {
            self.name = name
            self.orders = orders
            self.cells = cells
            cellOrder = cells.indices.sorted { cells[$0] < cells[$1] }
            self.defaults = defaults
            ordered = cellOrder.map { cell in
                Cell(
                    position: cell, name: cells[cell],
                    isPlain: defaults[cell].count == 1 && defaults[cell][0].isNull)
            }
            self.structure = structure
        }
    }

    /// The items of a store's objects.
    /// - Complexity: O(columns)
    package init(_ schema: MergeSchema, store: StoreID) {
        let hash = SipHash(key: store.bytes)
        self.hash = hash
        entities = schema.entities.map { entity in
            let names = entity.columns.map { Collation.lowercased($0.name) }
            let orders = entity.cells.map { cell in
                cell.indices.sorted { names[cell[$0]] < names[cell[$1]] }
            }
            let cells = zip(entity.cells, orders).map { cell, order in
                Self.name(order.map { names[cell[$0]] }, hash)
            }
            return Entity(
                name: Self.name([Collation.lowercased(entity.name)], hash), orders: orders,
                cells: cells,
                defaults: entity.cells.map { cell in
                    cell.map { .value(entity.columns[$0].defaultValue) }
                },
                structure: Self.structure(of: entity, in: schema, hash))
        }
    }

    private static func name(_ names: [String], _ hash: SipHash) -> UInt64 {
        var writer = ByteWriter()
        for name in names { writer.append(counted: Array(name.utf8)) }
        return UInt64(truncatingIfNeeded: hash.hash(writer.bytes))
    }

    /// The cells of an entity with the defaults and the references of their columns.
    private static func structure(
        of entity: MergeEntity, in schema: MergeSchema, _ hash: SipHash
    ) -> UInt64 {
        var columns: [String] = []
        for members in entity.cells {
            let cellName = members.map { Collation.lowercased(entity.columns[$0].name) }.sorted()
            for column in members {
                var writer = ByteWriter()
                writer.append(entity.columns[column].defaultValue)
                for reference in entity.references {
                    guard let part = reference.columns.firstIndex(of: column) else { continue }
                    let target = Collation.lowercased(schema.entities[reference.target].name)
                    writer.append(counted: Array("\(target) \(part)".utf8))
                }
                let name = Collation.lowercased(entity.columns[column].name)
                columns.append("\(name) \(cellName) \(writer.bytes)")
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
        for cell in entity.cellOrder {
            append(
                record.cells[cell], of: entity.cells[cell], order: entity.orders[cell],
                default: entity.defaults[cell], to: &writer)
        }
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

    /// The versions of a cell that do not have its default.
    private func append(
        _ versions: [Version], of cell: UInt64, order: [Int], default fields: [Field],
        to writer: inout ByteWriter
    ) {
        // Most cells have one.
        if versions.count == 1, !versions[0].isPartial {
            guard versions[0].value != fields else { return }
            append(cell, to: &writer)
            writer.append(varint: 1)
            append(versions[0], order: order, to: &writer)
            return
        }
        let versions = stated(versions, besides: fields)
        if versions.isEmpty { return }
        append(cell, to: &writer)
        writer.append(varint: UInt64(versions.count))
        if versions.count == 1 {
            append(versions[0], order: order, to: &writer)
            return
        }
        let all = versions.map { version in
            var writer = ByteWriter()
            append(version, order: order, to: &writer)
            return writer.bytes
        }
        for version in Self.sorted(all) { writer.append(counted: version) }
    }

    /// The versions without defaults: of a cell of which some state a part, column by column.
    private func stated(_ versions: [Version], besides fields: [Field]) -> [Version] {
        guard versions.contains(where: \.isPartial) else {
            return versions.filter { $0.value != fields }
        }
        return versions.compactMap { version in
            let value = zip(version.value, fields).map { $0 == $1 ? .unstated : $0 }
            if value.allSatisfy({ $0 == .unstated }) { return nil }
            return Version(version.dot, incarnation: version.incarnation, value: value)
        }
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

    private func append(_ version: Version, order: [Int], to writer: inout ByteWriter) {
        Self.append(version.dot, to: &writer)
        writer.append(varint: UInt64(version.incarnation))
        for place in order {
            switch version.value[place] {
            case .value(let value): writer.append(value)
            case .reference(let uid, let part):
                writer.append(byte: 5)
                append(uid, to: &writer)
                writer.append(varint: UInt64(part))
            case .unstated: writer.append(byte: 6)
            }
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
