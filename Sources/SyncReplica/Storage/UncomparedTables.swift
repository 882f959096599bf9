import Foundation
import SyncStorage
import SyncValues

/// The tables that could not be compared with each other replica when it was last compared: the
/// setting `uncompared`.
struct UncomparedTables {
    private struct Item: Codable, Equatable {
        /// The moment that was compared, hexadecimal: what an earlier version compared later is
        /// not known here.
        var at: String
        var tables: [String]
        /// Whether there was nothing else to compare; missing: there was.
        var isAll: Bool?
    }

    private let settings: Metadata
    private var items: [String: Item] = [:]

    /// - Throws: SQLite errors. A setting that is no such JSON counts as none.
    init(_ connection: OpaquePointer) throws {
        settings = Metadata(connection)
        guard case .text(let json) = try settings.value(.uncompared) else { return }
        items = (try? JSONDecoder().decode([String: Item].self, from: Data(json.utf8))) ?? [:]
    }

    /// Those of the comparison of a moment, and whether these are all tables; none: all were
    /// compared, or it is not known.
    func tables(of replica: ReplicaID, at: [UInt8]) -> (names: [String], isAll: Bool) {
        guard let item = items[replica.description], item.at == Hex.encode(at) else {
            return ([], false)
        }
        return (item.tables, item.isAll ?? false)
    }

    /// Notes those of a comparison.
    /// - Throws: SQLite errors.
    mutating func set(
        _ tables: [String], isAll: Bool, of replica: ReplicaID, at: [UInt8]
    ) throws {
        let item =
            tables.isEmpty
            ? nil : Item(at: Hex.encode(at), tables: tables, isAll: isAll ? true : nil)
        guard items[replica.description] != item else { return }
        items[replica.description] = item
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = String(decoding: try encoder.encode(items), as: UTF8.self)
        try settings.set(.uncompared, to: items.isEmpty ? .null : .text(json))
    }
}
