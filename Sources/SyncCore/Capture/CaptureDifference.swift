import SyncStorage
import SyncValues

/// What a store records otherwise than was chosen for it.
///
/// Tracking a store again adds what is missing (``Store/adjust(_:to:adding:)``). What a store
/// records beyond the choice stays: the log and the history have it, and only tracking it from the
/// beginning would leave it out.
package struct CaptureDifference: Sendable, Hashable {
    /// Chosen tables that are not tracked.
    package internal(set) var untracked: [String] = []
    /// Tables whose updates do not keep old values, and should.
    package internal(set) var lackingOldValues: [String] = []
    /// Tables whose deleted rows keep values, and should not.
    package internal(set) var keepingValues: [String] = []
    /// The tables that are created later are recorded otherwise than was chosen for all.
    package internal(set) var concernsNewTables = false
    /// Tables that are tracked, and were not chosen.
    package internal(set) var furtherTables: [String] = []
    /// Tables whose updates keep old values, and were not chosen for that.
    package internal(set) var furtherOldValues: [String] = []
    /// Tables whose deleted rows keep no values, and should.
    package internal(set) var lackingValues: [String] = []

    /// Something that tracking the store again adds.
    package var isAddable: Bool {
        concernsNewTables || !untracked.isEmpty || !lackingOldValues.isEmpty
            || !keepingValues.isEmpty
    }

    /// Something that stays until the store is tracked from the beginning.
    package var isLasting: Bool {
        !furtherTables.isEmpty || !furtherOldValues.isEmpty || !lackingValues.isEmpty
    }

    /// Everything is recorded as it was chosen.
    package var isEmpty: Bool { !isAddable && !isLasting }

    /// What of it stays until the store is tracked from the beginning.
    package var lasting: CaptureDifference {
        var rest = CaptureDifference()
        rest.furtherTables = furtherTables
        rest.furtherOldValues = furtherOldValues
        rest.lackingValues = lackingValues
        return rest
    }

    /// What of it tracking the store again has added.
    /// - Parameter present: what differs still.
    /// - Complexity: O(names²)
    package func without(_ present: CaptureDifference) -> CaptureDifference {
        func rest(_ names: [String], _ left: [String]) -> [String] {
            names.filter { name in !left.contains { SQLName.isEqual($0, to: name) } }
        }
        var added = CaptureDifference()
        added.untracked = rest(untracked, present.untracked)
        added.lackingOldValues = rest(lackingOldValues, present.lackingOldValues)
        added.keepingValues = rest(keepingValues, present.keepingValues)
        added.concernsNewTables = concernsNewTables && !present.concernsNewTables
        return added
    }

    /// Without chosen names that are none of these tables.
    /// - Complexity: O(names)
    package func about(_ tables: [String]) -> CaptureDifference {
        let known = Set(tables.map(SQLName.folded))
        var copy = self
        copy.untracked.removeAll { !known.contains(SQLName.folded($0)) }
        return copy
    }

    private init() {}

    /// - Parameters:
    ///   - choice: what was chosen; what it leaves empty was not.
    ///   - choosesKept: whether it was chosen what deleted rows keep.
    /// - Throws: the error of SQLite; `badData`, `corrupt` for what cannot be read.
    /// - Complexity: O(entities · names of the choice)
    init(
        _ choice: CaptureChoice, choosesKept: Bool, on connection: OpaquePointer
    ) throws {
        let present = try EntityTable(connection).live()
        let names = present.map(\.name)
        func has(_ list: [String], _ name: String) -> Bool {
            list.contains { SQLName.isEqual($0, to: name) }
        }
        if !choice.entities.isEmpty {
            untracked = choice.entities.filter { !has(names, $0) }
            furtherTables = names.filter { !has(choice.entities, $0) }
        }
        let keepsAllOld = choice.undo.contains("*")
        for entity in present {
            let isChosen = keepsAllOld || has(choice.undo, entity.name)
            if isChosen, !entity.keepsOldValues { lackingOldValues.append(entity.name) }
            if !isChosen, !choice.undo.isEmpty, entity.keepsOldValues {
                furtherOldValues.append(entity.name)
            }
            guard choosesKept else { continue }
            let kept = entity.layout.options().kept
            if !choice.keepsValues, kept != .none { keepingValues.append(entity.name) }
            if choice.keepsValues, kept == .none { lackingValues.append(entity.name) }
        }
        let listed = Set(names.map(SQLName.folded))
        untracked += choice.undo.filter {
            // A table that `entities` leaves out is not recorded for its old values either.
            $0 != "*" && !listed.contains(SQLName.folded($0)) && !has(untracked, $0)
                && (choice.entities.isEmpty || has(choice.entities, $0))
        }
        let metadata = Metadata(connection)
        guard choice.entities.isEmpty, try metadata.recordsNewTables() else { return }
        let later = try CaptureOptions.ofNewTables(metadata)
        concernsNewTables =
            keepsAllOld && !later.undo || choosesKept && !choice.keepsValues && later.kept != .none
    }
}
