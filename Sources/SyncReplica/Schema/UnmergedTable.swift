import GRDB
import SyncCore
import SyncStorage

/// A tracked table that merging leaves out, because its foreign keys cannot be merged: history
/// records it, and its rows stay on this replica. The other tables are synchronised.
public struct UnmergedTable: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// Why, in words that follow the name.
    public let reason: String

    /// The tables that merging leaves out, in the order of `tables`. A table that refers to one of
    /// them is one, too: on another replica its rows would refer to nothing.
    /// - Parameter tables: the tracked ones.
    /// - Complexity: O(tables² · foreign keys)
    static func all(among tables: [TableSchema]) -> [UnmergedTable] {
        let names = tables.map { SQLName.folded($0.name) }
        let positions = Dictionary(zip(names, names.indices)) { first, _ in first }
        var reasons: [Int: String] = [:]
        var targets: [Int: Int] = [:]
        for (place, table) in tables.enumerated() {
            let declared = DeclaredReferences(of: table, among: tables, positions: positions)
            reasons[place] = declared.problem
            targets[place] = declared.target(ofKey: table)
        }
        let circles = KeyCircles(targets: targets)
        for place in tables.indices where reasons[place] == nil {
            guard let circle = circles.circle(from: place) else { continue }
            let path = (circle + [place]).map { tables[$0].name }.joined(separator: " → ")
            reasons[place] = "its primary key is a foreign key in a circle: \(path)"
        }
        var isComplete = reasons.isEmpty
        while !isComplete {
            isComplete = true
            for (place, table) in tables.enumerated() where reasons[place] == nil {
                let parent = table.foreignKeys.lazy
                    .compactMap { positions[SQLName.folded($0.parent)] }
                    .first { reasons[$0] != nil }
                guard let parent else { continue }
                reasons[place] = "it refers to \(tables[parent].name), which is not synchronised"
                isComplete = false
            }
        }
        return reasons.sorted { $0.key < $1.key }.map {
            UnmergedTable(name: tables[$0.key].name, reason: $0.value)
        }
    }

    /// The tables of a database that merging leaves out.
    static func all(in database: Database) throws -> [UnmergedTable] {
        all(among: try EntityTable.liveTables(of: database))
    }
}

extension Store {
    /// The tables of a tracked database that cannot be synchronised.
    /// - Throws: ``SyncError``: as ``open(_:)``.
    /// - Complexity: O(schema)
    public static func unmergedTables(_ path: String) throws -> [UnmergedTable] {
        let queue = try DatabaseOpener.open(path, for: .reading)
        defer { try? queue.close() }
        return try queue.read(UnmergedTable.all(in:))
    }
}
