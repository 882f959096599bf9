import CSQLite
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Which of the user's triggers fire while a merge writes: those that write untracked tables alone,
/// as a search index does. What the others write comes from the origin, and a check that they make
/// was made there; ours would take a merge for a local write.
///
/// SQLite turns triggers on or off for a whole connection, so that the others are made hollow:
/// the authorizer, which names the trigger that a statement belongs to, answers IGNORE, and SQLite
/// makes no code for it. Not everything can be ignored (``TriggerEffect/cannotBeIgnored``): a table
/// one of whose triggers does such a thing fires none at all.
///
/// Invariants
/// - The authorizer is set once for the connection and stays: a change would expire its statements.
/// - A statement is compiled under the switch with which it runs: turning it expires them all.
///
/// Confined to its connection's queue.
final class FiringTriggers {
    /// What the statements on one table set off.
    private struct Reach {
        var triggers: Set<String> = []
        var canCompile = true
    }

    /// What a trigger does, found by compiling what sets it off.
    private struct TriggerEffect {
        var writesUntracked = false
        /// Ours do, and have nothing that cannot be ignored.
        var writesTracked = false
        var deletes = false
        var changesKeys = false
        /// Its condition asks a query, or a check is part of it.
        let hasQueryBefore: Bool
        let raises: Bool

        init(sql: String) {
            let tokens = SQLTokens(sql).tokens
            let begin = tokens.firstIndex { $0.isWord("BEGIN") } ?? 0
            hasQueryBefore = tokens[..<begin].contains { $0.isWord("SELECT") }
            raises = tokens.contains { $0.isWord("RAISE") }
        }

        var isOurs = false
        var writes: Bool { writesUntracked || writesTracked }
        var fires: Bool { writesUntracked && !writesTracked && !raises }

        /// It cannot be made hollow: a DELETE is not ignored, nor is a change of a key, nor a
        /// RAISE but in a trigger that does nothing else, nor a query in the condition.
        var cannotBeIgnored: Bool {
            guard !fires, !isOurs else { return false }
            return writes ? deletes || changesKeys || raises : hasQueryBefore
        }
    }

    private let connection: OpaquePointer
    private var effects: [String: TriggerEffect] = [:]
    private var tracked: [String: Set<String>] = [:]
    private var isLearning = false
    private var reached: Set<String> = []
    /// By entity: whether triggers are on while its table is written.
    private var fires: [Bool] = []
    private var isOn = false
    private var isRegistered = false

    /// Whether the triggers of some table fire.
    var isNeeded: Bool { fires.contains(true) }

    init(_ connection: OpaquePointer) {
        self.connection = connection
        turn(on: false)
    }

    /// Looks at the triggers of a schema; those of the schema before are forgotten.
    /// - Complexity: O(1) when no tracked table has a trigger of the user, else three statements
    ///   are compiled for each table.
    func learn(_ tables: [MergedTable]) throws {
        fires = Array(repeating: false, count: tables.count)
        effects = [:]
        tracked = [:]
        for table in tables {
            let keys = table.key.map { SQLName.folded(table.columns[$0]) }
            tracked[SQLName.folded(table.name)] = Set(keys + ["rowid"])
        }
        guard try readTriggers() else { return turn(on: false) }
        register()
        isLearning = true
        turn(on: true)
        let reaches = tables.map(reach)
        isLearning = false
        let isSafe = reaches.map { reach in
            reach.canCompile
                && !reach.triggers.contains {
                    effects[$0]?.cannotBeIgnored ?? false
                }
        }
        let canFire = reaches.map { reach in
            reach.triggers.contains { effects[$0]?.fires ?? false }
        }
        // Where all can be on, nothing has to be turned, and no statement expires.
        if canFire.contains(true), isSafe.allSatisfy({ $0 }) {
            fires = isSafe
        } else {
            fires = zip(canFire, isSafe).map { $0 && $1 }
        }
        turn(on: isNeeded)
    }

    /// To be called before a statement on an entity's table is run or compiled.
    func prepare(for entity: Int) { turn(on: fires[entity]) }

    /// No trigger fires until ``prepare(for:)``.
    func hold() { turn(on: false) }

    private func turn(on: Bool) {
        guard on != isOn || !isRegistered else { return }
        isOn = on
        _ = syncd_sqlite_enable_triggers(connection, on ? 1 : 0)
    }

    /// - Returns: whether a tracked table has a trigger of the user.
    private func readTriggers() throws -> Bool {
        let select = try Statement(
            connection, "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger'")
        var isFound = false
        while try select.step() {
            let name = select.text(0) ?? ""
            var effect = TriggerEffect(sql: select.text(2) ?? "")
            effect.isOurs = SQLName.folded(name).hasPrefix("syncd_")
            effects[name] = effect
            if !effect.isOurs, tracked[SQLName.folded(select.text(1) ?? "")] != nil {
                isFound = true
            }
        }
        return isFound
    }

    private func reach(_ table: MergedTable) -> Reach {
        reached = []
        let all = Array(table.columns.indices)
        do {
            for sql in [table.insert, table.update(all), table.delete] {
                _ = try Statement(connection, sql)
            }
            return Reach(triggers: reached)
        } catch {
            // A function of another program, or a table that is gone.
            return Reach(triggers: reached, canCompile: false)
        }
    }

    // MARK: The authorizer

    private func register() {
        guard !isRegistered else { return }
        isRegistered = true
        // GRDB's authorizer, which this replaces, tells GRDB about writes; on this connection it
        // only reads the schema. We live as long as something is compiled here.
        sqlite3_set_authorizer(
            connection,
            { context, action, first, second, _, trigger in
                guard let context, let trigger else { return SQLITE_OK }
                return Unmanaged<FiringTriggers>.fromOpaque(context).takeUnretainedValue()
                    .authorize(action, first, second, trigger)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func authorize(
        _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
        _ trigger: UnsafePointer<CChar>
    ) -> Int32 {
        switch action {
        case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE, SQLITE_SELECT: break
        default: return SQLITE_OK
        }
        // A view has its name there as well.
        let name = String(cString: trigger)
        guard let effect = effects[name] else { return SQLITE_OK }
        if isLearning {
            reached.insert(name)
            note(
                name, action, first.map { String(cString: $0) }, second.map { String(cString: $0) })
            return SQLITE_OK
        }
        switch action {
        case _ where effect.fires, SQLITE_DELETE: return SQLITE_OK
        // A query in a statement that is ignored is none, and one in a condition has to be asked.
        case SQLITE_SELECT:
            return effect.writes || effect.hasQueryBefore ? SQLITE_OK : SQLITE_IGNORE
        default: return SQLITE_IGNORE
        }
    }

    private func note(_ trigger: String, _ action: Int32, _ table: String?, _ column: String?) {
        guard action != SQLITE_SELECT, let table = table.map(SQLName.folded) else { return }
        let keys = table.hasPrefix("syncd_") ? [] : tracked[table]
        if keys == nil { effects[trigger]?.writesUntracked = true }
        if keys != nil { effects[trigger]?.writesTracked = true }
        if action == SQLITE_DELETE { effects[trigger]?.deletes = true }
        if action == SQLITE_UPDATE, let column, keys?.contains(SQLName.folded(column)) ?? false {
            effects[trigger]?.changesKeys = true
        }
    }
}
