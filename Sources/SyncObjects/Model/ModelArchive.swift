import Foundation
import SyncCore

/// A model as JSON, as it is kept in each store, so that later programs know the model that the
/// store was written with. Only the names of classes and transformers are kept.
struct ModelArchive: Codable {
    var version: String?
    var entities: [Entity]

    struct Entity: Codable {
        var name: String
        var parent: String?
        var isAbstract: Bool
        var attributes: [ArchivedAttribute]
        var relationships: [RelationshipDescription]
        var constraints: [[String]]
        var indexes: [[String]]
        var renamingIdentifier: String
        var modifier: String?
        var table: String?
        var keyColumns: [EntityDescription.KeyColumn]
    }

    struct ArchivedAttribute: Codable {
        var name: String
        var type: String
        var dates: String
        var defaultValue: [String]
        var isOptional: Bool
        var isTransient: Bool
        var derivation: String?
        var transformer: String?
        var renamingIdentifier: String
        var modifier: String?
        var column: String?
    }

    init(_ model: ManagedObjectModel) {
        version = model.versionIdentifier
        entities = model.entities.map { entity in
            Entity(
                name: entity.name, parent: entity.parent, isAbstract: entity.isAbstract,
                attributes: entity.attributes.map(ArchivedAttribute.init),
                relationships: entity.relationships, constraints: entity.uniquenessConstraints,
                indexes: entity.indexes, renamingIdentifier: entity.renamingIdentifier,
                modifier: entity.versionHashModifier, table: entity.table,
                keyColumns: entity.keyColumns)
        }
    }

    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    static func model(_ text: String) throws -> ManagedObjectModel {
        let archive = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        return try ManagedObjectModel(
            archive.entities.map(\.description), version: archive.version)
    }
}

extension ModelArchive.Entity {
    fileprivate var description: EntityDescription {
        var entity = EntityDescription(
            name, parent: parent, attributes: attributes.map(\.description),
            relationships: relationships, constraints: constraints, indexes: indexes)
        entity.isAbstract = isAbstract
        entity.renamingIdentifier = renamingIdentifier
        entity.versionHashModifier = modifier
        entity.table = table
        entity.keyColumns = keyColumns
        return entity
    }
}

extension ModelArchive.ArchivedAttribute {
    fileprivate init(_ attribute: AttributeDescription) {
        name = attribute.name
        type = attribute.type.rawValue
        dates = attribute.coding.dates.rawValue
        defaultValue = Self.pack(attribute.defaultValue)
        isOptional = attribute.isOptional
        isTransient = attribute.isTransient
        derivation = attribute.derivation
        transformer = attribute.transformer?.name
        renamingIdentifier = attribute.renamingIdentifier
        modifier = attribute.versionHashModifier
        column = attribute.column
    }

    fileprivate var description: AttributeDescription {
        var attribute = AttributeDescription(
            name, AttributeType(rawValue: type) ?? .any, optional: isOptional)
        attribute.coding.dates = DateStorage(rawValue: dates) ?? .text
        attribute.setStoredDefault(Self.unpack(defaultValue))
        attribute.isTransient = isTransient
        attribute.derivation = derivation
        attribute.transformer = transformer.map { name in
            AttributeTransformer(name: name, encode: { (data: Data) in data }, decode: { $0 })
        }
        attribute.renamingIdentifier = renamingIdentifier
        attribute.versionHashModifier = modifier
        attribute.column = column
        return attribute
    }

    private static func pack(_ value: Value) -> [String] {
        switch value {
        case .null: return []
        case .integer(let number): return ["integer", String(number)]
        case .real(let number): return ["real", String(number.bitPattern)]
        case .text(let text): return ["text", text]
        case .blob(let bytes): return ["blob", Data(bytes).base64EncodedString()]
        }
    }

    private static func unpack(_ parts: [String]) -> Value {
        guard parts.count == 2 else { return .null }
        switch parts[0] {
        case "integer": return Int64(parts[1]).map(Value.integer) ?? .null
        case "real": return UInt64(parts[1]).map { .real(Double(bitPattern: $0)) } ?? .null
        case "text": return .text(parts[1])
        case "blob": return Data(base64Encoded: parts[1]).map { .blob([UInt8]($0)) } ?? .null
        default: return .null
        }
    }
}
