import Crypto
import SyncValues

/// What a replica states about its facts at one moment, so that another one that has merged the
/// same transactions can find out whether it has the same facts.
package struct StateSums: Sendable, Hashable {
    /// The limit of entities: more than any schema that SQLite accepts in practice.
    package static let entitiesMax = 1 << 16
    /// The length of ``at`` in bytes.
    package static let atBytes = 16

    /// The sums of one entity.
    package struct Entity: Sendable, Hashable {
        /// The hash of its name.
        package let name: UInt64
        /// The hash of what the items depend on; the facts of two replicas are comparable where it
        /// is equal.
        package let structure: UInt64
        /// The sum of its objects' facts.
        package let facts: UInt128
        /// The sum of its objects that are not shown as they were recorded.
        package let shown: UInt128

        /// States the sums of an entity.
        package init(name: UInt64, structure: UInt64, facts: UInt128, shown: UInt128) {
            self.name = name
            self.structure = structure
            self.facts = facts
            self.shown = shown
        }
    }

    /// Names what had been merged, under which policies: a hash. Only sums with the same name are
    /// comparable.
    package let at: [UInt8]
    /// The hash of the schema that the rows are shown by; what is shown is comparable where it is
    /// equal. Nil: it is not comparable, because facts wait for a place.
    package let schema: UInt64?
    /// Those that are comparable, in the order of their names.
    package let entities: [Entity]

    /// States sums.
    package init(at: [UInt8], schema: UInt64?, entities: [Entity]) {
        self.at = at
        self.schema = schema
        self.entities = entities.sorted { $0.name < $1.name }
    }

    /// The name of a moment.
    /// - Parameter policies: as JSON.
    package static func at(
        _ vector: VersionVector, policies: String, store: StoreID
    ) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(counted: Array("syncd sums at 1".utf8))
        writer.append(store)
        writer.append(vector)
        writer.append(raw: SHA256.hash(data: Array(policies.utf8)))
        return Array(SHA256.hash(data: writer.bytes).prefix(atBytes))
    }

    // MARK: Comparing

    /// What a comparison found.
    package struct Comparison: Sendable, Hashable {
        /// The names of those that had comparable facts.
        package var compared: [UInt64] = []
        /// The names of those whose facts or rows differ.
        package var different: [UInt64] = []
        /// The names of those of which only one has facts, or in other columns.
        package var uncompared: [UInt64] = []
    }

    /// Compares with what another replica stated of the same moment.
    /// - Returns: nil for another moment.
    /// - Complexity: O(entities)
    package func compared(with other: StateSums) -> Comparison? {
        guard at == other.at else { return nil }
        var theirs: [UInt64: Entity] = [:]
        for entity in other.entities { theirs[entity.name] = entity }
        let isShownComparable = schema != nil && schema == other.schema
        var comparison = Comparison()
        for own in entities {
            guard let their = theirs.removeValue(forKey: own.name),
                their.structure == own.structure
            else {
                comparison.uncompared.append(own.name)
                continue
            }
            comparison.compared.append(own.name)
            if own.facts != their.facts || isShownComparable && own.shown != their.shown {
                comparison.different.append(own.name)
            }
        }
        comparison.uncompared += theirs.keys.sorted()
        return comparison
    }

    // MARK: Bytes

    private static let head: [UInt8] = [0x53, 0x59, 0x4e, 0x53, 1]
    private static let checkBytes = 8

    /// The sums as bytes: docs/batch-format.md.
    package func encoded(store: StoreID) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(raw: Self.head)
        writer.append(store)
        writer.append(raw: at)
        writer.append(byte: schema == nil ? 0 : 1)
        if let schema { writer.append(littleEndian: schema) }
        writer.append(varint: UInt64(entities.count))
        for entity in entities {
            writer.append(littleEndian: entity.name)
            writer.append(littleEndian: entity.structure)
            writer.append(littleEndian: entity.facts)
            writer.append(littleEndian: entity.shown)
        }
        return writer.bytes + SHA256.hash(data: writer.bytes).prefix(Self.checkBytes)
    }

    /// Reads ``encoded(store:)``.
    /// - Throws: `badData` for anything that is not whole sums of the store.
    package init(_ bytes: [UInt8], store: StoreID) throws {
        var reader = ByteReader(bytes)
        guard try reader.raw(Self.head.count).elementsEqual(Self.head),
            try reader.identifier(StoreID.self) == store
        else { throw SyncError(.badData, "these are no sums of the store") }
        let at = Array(try reader.raw(Self.atBytes))
        let schema: UInt64? = try reader.byte() == 0 ? nil : try reader.littleEndian()
        var entities: [Entity] = []
        for _ in 0..<(try reader.countOfRest(atMost: Self.entitiesMax)) {
            entities.append(
                Entity(
                    name: try reader.littleEndian(), structure: try reader.littleEndian(),
                    facts: try reader.littleEndian(), shown: try reader.littleEndian()))
        }
        let check = SHA256.hash(data: bytes[..<reader.position]).prefix(Self.checkBytes)
        guard try reader.raw(Self.checkBytes).elementsEqual(check), reader.isAtEnd else {
            throw SyncError(.badData, "the sums are damaged")
        }
        self.init(at: at, schema: schema, entities: entities)
    }

    /// The limit of the bytes of sums.
    package static let bytesMax = 128 + entitiesMax * 48
}

extension ByteWriter {
    fileprivate mutating func append(littleEndian number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { append(raw: $0) }
    }
}

extension ByteReader {
    fileprivate mutating func littleEndian<Number: FixedWidthInteger>() throws -> Number {
        try raw(MemoryLayout<Number>.size).reversed().reduce(0) { $0 << 8 | Number($1) }
    }
}
