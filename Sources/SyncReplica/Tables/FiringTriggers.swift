import CSQLite
import SyncStorage

/// Which of the user's triggers fire while a merge writes: those that write only untracked tables,
/// as a search index does. The other triggers fired where the change was made, and what they wrote
/// is merged with it. The capture triggers would record a merge as a local write.
///
/// SQLite turns triggers on or off for a whole connection. So the triggers that must not fire are
/// disabled one by one: the authorizer, which is given the name of the trigger that a statement
/// belongs to, answers SQLITE_IGNORE, and SQLite generates no code for the statement. Not every
/// action can be ignored (``TriggerEffect/cannotBeIgnored``): a table with a trigger that has such
/// an action fires none at all.
///
/// Invariants
/// - The authorizer is set once for the connection: setting another one expires its statements.
/// - A statement runs under the setting with which it was compiled: changing the setting expires
///   all statements.
///
/// Confined to its connection's queue.
final class FiringTriggers {
    /// The triggers that statements on one table fire.
    private struct Reach {
        var triggers: Set<String> = []
        var canCompile = true
    }

    /// What a trigger does, found by compiling the statements that fire it.
    private struct TriggerEffect {
        var writesUntracked = false
        /// The capture triggers do; all of their actions can be ignored.
        var writesTracked = false
        var deletes = false
        var changesKeys = false
        /// Its WHEN clause has a query.
        let hasQueryBefore: Bool
        let raises: Bool

        init(sql: String) {
            let tokens = SQLTokens(sql).tokens
            let begin = tokens.firstIndex { $0.isWord("BEGIN") } ?? 0
            hasQueryBefore = tokens[..<begin].contains { $0.isWord("SELECT") }
            raises = tokens.contains { $0.isWord("RAISE") }
        }

        var isOwn = false
        var writes: Bool { writesUntracked || writesTracked }
        var fires: Bool { writesUntracked && !writesTracked && !raises }

        /// Whether it cannot be disabled: SQLite does not ignore a DELETE, a change of a key, a
        /// query in the WHEN clause, nor a RAISE unless the trigger does nothing else.
        var cannotBeIgnored: Bool {
            guard !fires, !isOwn else { return false }
            return writes ? deletes || changesKeys || raises : hasQueryBefore
        }
    }

    private let connection: OpaquePointer
    private var effects: [String: TriggerEffect] = [:]
    private var tracked: [String: Set<String>] = [:]
    private var isLearning = false
    private var reached: Set<String> = []
    /// By entity: whether triggers are enabled while its table is written.
    private var fires: [Bool] = []
    private var isEnabled = false
    private var isRegistered = false

    /// Whether the triggers of some table fire.
    var isNeeded: Bool { fires.contains(true) }

    init(_ connection: OpaquePointer) {
        self.connection = connection
        setEnabled(false)
    }

    /// Reads the triggers of a schema, in place of those of the schema before.
    /// - Throws: SQLite errors.
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
        guard try readTriggers() else { return setEnabled(false) }
        register()
        isLearning = true
        setEnabled(true)
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
        // Where all can be enabled, the setting never changes, and no statement expires.
        if canFire.contains(true), isSafe.allSatisfy({ $0 }) {
            fires = isSafe
        } else {
            fires = zip(canFire, isSafe).map { $0 && $1 }
        }
        setEnabled(isNeeded)
    }

    /// To be called before a statement on an entity's table is compiled or run.
    func prepare(for entity: Int) { setEnabled(fires[entity]) }

    /// Disables all triggers until ``prepare(for:)``.
    func disable() { setEnabled(false) }

    private func setEnabled(_ isWanted: Bool) {
        guard isWanted != isEnabled || !isRegistered else { return }
        isEnabled = isWanted
        _ = syncd_sqlite_enable_triggers(connection, isWanted ? 1 : 0)
    }

    /// - Returns: whether a tracked table has a trigger of the user.
    private func readTriggers() throws -> Bool {
        let select = try Statement(
            "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger'",
            on: connection)
        var isFound = false
        while try select.step() {
            let name = select.text(0) ?? ""
            var effect = TriggerEffect(sql: select.text(2) ?? "")
            effect.isOwn = SQLName.folded(name).hasPrefix("syncd_")
            effects[name] = effect
            if !effect.isOwn, tracked[SQLName.folded(select.text(1) ?? "")] != nil {
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
                _ = try Statement(sql, on: connection)
            }
            return Reach(triggers: reached)
        } catch {
            // A function of another program, or a table that does not exist.
            return Reach(triggers: reached, canCompile: false)
        }
    }

    // MARK: The authorizer

    private func register() {
        guard !isRegistered else { return }
        isRegistered = true
        // GRDB's authorizer, which this replaces, tells GRDB about writes; on this connection it
        // only reads the schema. This object lives as long as statements are compiled here.
        sqlite3_set_authorizer(
            connection,
            { context, action, first, second, _, trigger in
                guard let context, let trigger else { return SQLITE_OK }
                return Unmanaged<FiringTriggers>.fromOpaque(context).takeUnretainedValue()
                    .authorize(action, of: (first, second), in: trigger)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func authorize(
        _ action: Int32, of names: (UnsafePointer<CChar>?, UnsafePointer<CChar>?),
        in trigger: UnsafePointer<CChar>
    ) -> Int32 {
        switch action {
        case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE, SQLITE_SELECT: break
        default: return SQLITE_OK
        }
        // In a view the name is that of the view.
        let name = String(cString: trigger)
        guard let effect = effects[name] else { return SQLITE_OK }
        if isLearning {
            reached.insert(name)
            note(
                action, table: names.0.map { String(cString: $0) },
                column: names.1.map { String(cString: $0) }, in: name)
            return SQLITE_OK
        }
        switch action {
        case _ where effect.fires, SQLITE_DELETE: return SQLITE_OK
        // A query in a statement that is ignored has no effect; one in a WHEN clause has to run.
        case SQLITE_SELECT:
            return effect.writes || effect.hasQueryBefore ? SQLITE_OK : SQLITE_IGNORE
        default: return SQLITE_IGNORE
        }
    }

    private func note(_ action: Int32, table: String?, column: String?, in trigger: String) {
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
