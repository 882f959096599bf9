import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// One row of `syncd_object`: an identity, what was stated of it, and how it stands in the tables
/// here.
struct StoredObject: Hashable {
    /// How an object stands in the tables.
    enum State: Int64 {
        /// Shown as it was stated: nothing has to be known of it beyond its row. Older versions
        /// may have lost to what is shown: whether they do is its own affair.
        case plain = 0
        /// Deleted, and nothing holds it in place.
        case gone = 1
        /// Repaired, hidden, or part of a row of several: in the region of every merge, because
        /// what happens elsewhere may resolve it.
        case unresolved = 2
    }

    /// Everything that was stated.
    var record: ObjectRecord
    /// The key of the row that it names; nil when it names none.
    var key: [Value]?
    /// The private number that it has, or that is reserved for it.
    var number: Int64?
    /// How it stands in the tables.
    var state: State
    /// The place in the merge order of the newest transaction that told of it.
    var place: Int64

    /// The key as `syncd_object.key` has it: a number or text as it is, anything else packed.
    static func stored(_ key: [Value]?) -> Value {
        guard let key else { return .null }
        switch key.count == 1 ? key[0] : .null {
        case .integer, .text, .real: return key[0]
        case .null, .blob:
            var writer = ByteWriter()
            for value in key { writer.append(value) }
            return .blob(writer.bytes)
        }
    }

    /// Reads ``stored(_:)``.
    static func key(stored value: Value) throws -> [Value]? {
        switch value {
        case .null: return nil
        case .integer, .text, .real: return [value]
        case .blob(let bytes):
            var reader = ByteReader(bytes)
            var key: [Value] = []
            while !reader.isAtEnd { key.append(try reader.value()) }
            return key
        }
    }
}

extension StoredObject {
    /// How an object stands in the tables that a view makes.
    static func state(
        _ uid: ObjectUID, _ record: ObjectRecord, _ state: MergeState, _ shown: View
    ) -> State {
        if shown.revived.contains(uid) { return .unresolved }
        guard let row = shown.rows[uid], row.members.count == 1 else {
            let isHosted = shown.shownAs[uid] != nil
            return isHosted || state.isAlive(record) || record.life.isEmpty ? .unresolved : .gone
        }
        let cells = state.schema.entities[record.entity].cells
        let policies = state.schema.entities[record.entity].policies
        for (cell, source) in row.sources.enumerated() {
            guard let source else { return .unresolved }
            // How versions become one value is the object's own affair, too.
            if policies[cell].isBlending { continue }
            for version in record.cells[cell] {
                let isEqual = zip(cells[cell], state.literal(version)).allSatisfy {
                    row.fields[$0] == $1
                }
                if isEqual { continue }
                // Versions that refer to two objects say the same once these become one.
                if version.dot == source.dot || version.value.contains(where: { $0.target != nil })
                {
                    return .unresolved
                }
            }
        }
        return .plain
    }
}
