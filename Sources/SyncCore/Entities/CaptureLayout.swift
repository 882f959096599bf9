import Foundation
import SyncStorage
import SyncValues

/// How the log rows of one entity are read: the JSON in `syncd_entity.layout`
/// (docs/store-format.md §1.5).
///
/// Never changed once it is stored: rows of the log are read with the layout that they were written
/// with. A changed table gets a new entity row with a new layout.
package struct CaptureLayout: Sendable, Hashable, Codable {
    /// SQLite's own limit (SQLITE_MAX_COLUMN).
    static let columnsMax = 32_767
    /// The number of values in one log row.
    static let valuesPerRow = 7

    /// The names of the key's columns, in key order.
    package var key: [String]
    /// The names of all columns that are not generated; position = bit of the mask.
    package var columns: [String]
    /// The positions in ``columns`` that are kept of a deleted row, in order. The key is in the
    /// value list already, so that its columns are not among them.
    package var kept: [Int]
    /// How ``kept`` was chosen: a column that is added later is kept when all are. Nil in stores
    /// of versions that did not store it.
    package var choice: Choice?
    /// Updates keep what they overwrite.
    package var undo: Bool
    /// The references along which deletes of other entities' objects reach this one: `ON DELETE
    /// CASCADE` to a primary key. Nil: none.
    package var cascades: [Cascade]?
    /// The entity row that this one goes on from: the table was altered, renamed or rebuilt.
    package var previous: Int64?
    /// Columns that were renamed since ``previous``: new name to old name.
    package var renamed: [String: String]?

    /// ``CaptureOptions/Kept`` without the names, which are ``CaptureLayout/kept``.
    package enum Choice: String, Sendable, Hashable, Codable {
        case all, chosen, none
    }

    /// A foreign key that says `ON DELETE CASCADE`.
    package struct Cascade: Sendable, Hashable, Codable {
        /// Positions in ``CaptureLayout/columns``, in the order of the parent's key.
        package var columns: [Int]
        /// The parent's name.
        package var parent: String
    }

    /// The number of mask integers that follow the key in an update's value list.
    package var furtherMasks: Int {
        max(0, (columns.count - 1) / ColumnMask.bitsPerWord)
    }

    /// The length of the value list of a log row of `kind`.
    package func valueCount(_ kind: LogKind) -> Int {
        switch kind {
        case .insert, .deleting: return key.count
        case .update: return key.count + furtherMasks + (undo ? columns.count : 0)
        case .delete, .replace: return key.count + kept.count
        case .renumber: return key.count * 2
        case .marker, .continued: return Self.valuesPerRow
        }
    }

    /// The layout of `table` under `options`.
    /// - Throws: `SyncError.invalidArgument` when a kept column does not exist.
    package init(_ table: TableSchema, options: CaptureOptions) throws {
        let columns = table.storedColumns.map(\.name)
        let isKey = Set(table.key.map(SQLName.folded))
        let candidates = columns.indices.filter { !isKey.contains(SQLName.folded(columns[$0])) }
        self.key = table.keyColumns.map(\.name)
        self.columns = columns
        self.undo = options.undo
        let cascades = table.foreignKeys.filter { $0.onDelete == .cascade }.map { reference in
            Cascade(
                columns: reference.columns.compactMap { name in
                    columns.firstIndex { SQLName.isEqual($0, to: name) }
                }, parent: reference.parent)
        }
        self.cascades = cascades.isEmpty ? nil : cascades
        switch options.kept {
        case .all: (choice, kept) = (.all, candidates)
        case .none: (choice, kept) = (Choice.none, [])
        case .columns(let names):
            for name in names where !columns.contains(where: { SQLName.isEqual($0, to: name) }) {
                throw SyncError(
                    .invalidArgument, "\(table.name) has no stored column \(name) to keep",
                    operation: "track")
            }
            choice = .chosen
            kept = candidates.filter { position in
                names.contains { SQLName.isEqual($0, to: columns[position]) }
            }
        }
    }

    /// The options that led to this layout, for a table that has changed since: all stays all.
    package func options() -> CaptureOptions {
        switch choice ?? likelyChoice {
        case .all: return CaptureOptions(kept: .all, undo: undo)
        case .none: return CaptureOptions(kept: .none, undo: undo)
        case .chosen:
            return CaptureOptions(kept: .columns(kept.map { columns[$0] }), undo: undo)
        }
    }

    private var likelyChoice: Choice {
        let isKey = Set(key.map(SQLName.folded))
        let all = columns.filter { !isKey.contains(SQLName.folded($0)) }.count
        if kept.count == all { return .all }
        return kept.isEmpty ? .none : .chosen
    }

    // MARK: JSON

    /// Reads ``json()``.
    /// - Throws: `badData`.
    package init(json: String) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(json.utf8))
            guard isSound else {
                throw SyncError(.badData, "it names columns that it does not have")
            }
        } catch {
            throw SyncError(
                .badData, "an entity's layout cannot be read", hint: "Run: synctool doctor",
                underlying: error)
        }
    }

    /// Whether the keys of this layout name other objects than those of the layout before: other
    /// columns, another number or another order of them. A column under a new name is the same one,
    /// also where a rebuilt table does not say so: then none has the former name.
    func hasOtherKey(than old: CaptureLayout) -> Bool {
        let before = old.key.map { name in
            renamed?.first { SQLName.isEqual($0.value, to: name) }?.key ?? name
        }
        guard before.count == key.count else { return true }
        return zip(before, key).contains { was, now in
            !SQLName.isEqual(was, to: now) && columns.contains { SQLName.isEqual($0, to: was) }
        }
    }

    /// The same layout, with names of the same bytes: a name in another spelling of the same text
    /// is another one in SQL.
    func isSpelled(as other: CaptureLayout) -> Bool {
        self == other && zip(columns, other.columns).allSatisfy { $0.hasBytes(of: $1) }
    }

    /// Every position and every name of the key is among the columns.
    private var isSound: Bool {
        let positions = kept + (cascades ?? []).flatMap(\.columns)
        return !key.isEmpty && columns.count <= Self.columnsMax
            && key.count <= columns.count && key.allSatisfy(columns.contains)
            && positions.allSatisfy(columns.indices.contains) && kept.count <= columns.count
    }

    /// The layout as stored.
    /// - Throws: `EncodingError`, which cannot happen for a layout of a table.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
