import CSQLite
import GRDB
import SyncMerge
import SyncStorage
import SyncValues

/// Compiles what uses a view or fires a trigger, which is when SQLite compiles its body, and sees
/// what it would do.
struct ObjectUse {
    /// The tables and views that may be read, folded.
    let readable: Set<String>
    let database: Database
    let connection: OpaquePointer

    /// What a view or trigger does.
    struct Effect {
        /// The tables that a trigger writes, folded.
        var written: Set<String> = []
        var isRecursive = false
    }

    /// SQLite connects a virtual table when a statement first names it, and the module then runs
    /// statements of its own: done before a judge is asked.
    private func connectVirtualTables() throws {
        let names = try String.fetchAll(
            database,
            sql: "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'")
        for name in names {
            // A module that only another program has is not needed here.
            _ = try? Statement("SELECT 1 FROM \(SQLName.quoted(name))", on: connection)
        }
    }

    /// - Throws: `badData`, with the reason, for a body that is refused or cannot be compiled.
    func effect(of object: SchemaObject) throws -> Effect {
        if object.kind == .view || object.kind == .trigger { try connectVirtualTables() }
        switch object.kind {
        case .view:
            return try effect(of: object, in: "SELECT * FROM \(SQLName.quoted(object.name))")
        case .trigger:
            var effect = Effect()
            for statement in try firing(object) {
                let other = try self.effect(of: object, in: statement)
                effect.written.formUnion(other.written)
                effect.isRecursive = effect.isRecursive || other.isRecursive
            }
            return effect
        case .table, .index, .virtualTable: return Effect()
        }
    }

    private func effect(of object: SchemaObject, in statement: String) throws -> Effect {
        var effect = Effect()
        let (name, target) = (SQLName.folded(object.name), SQLName.folded(object.table))
        let judge = SchemaJudge { action in
            // The triggers of this program: no other object has such a name.
            if SQLName.isOwn(action.inner) { return true }
            let (first, second) = action.names
            switch action.code {
            case SQLITE_SELECT: return true
            case SQLITE_RECURSIVE:
                effect.isRecursive = true
                return true
            case SQLITE_FUNCTION: return ReceivedNames.functions.contains(second)
            case SQLITE_READ:
                if ReceivedNames.tableFunctions.contains(first) { return true }
                // SQLite names no database where a table is read without any of its columns.
                return ["main", ""].contains(action.database) && readable.contains(first)
            case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
                guard action.database == "main" else { return false }
                if action.inner.isEmpty { return first == target }
                if action.inner == name { effect.written.insert(first) }
                return readable.contains(first)
            default: return false
            }
        }
        try ConfinedStatement("EXPLAIN " + statement, on: connection).compile(judge)
        return effect
    }

    /// Statements that fire a trigger.
    private func firing(_ object: SchemaObject) throws -> [String] {
        let tokens = SQLTokens(object.sql).tokens
        let event = tokens.dropFirst(3).first {
            $0.isWord("INSERT") || $0.isWord("UPDATE") || $0.isWord("DELETE")
        }
        let table = SQLName.quoted(object.table)
        let columns = try String.fetchAll(
            database, sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0",
            arguments: [object.table]
        ).map(SQLName.quoted)
        guard let event, !columns.isEmpty else {
            throw SyncError(.badData, "no such table: \(object.table.printable(countMax: 100))")
        }
        if event.isWord("DELETE") { return ["DELETE FROM \(table)"] }
        if event.isWord("UPDATE") {
            return [
                "UPDATE \(table) SET " + columns.map { "\($0) = \($0)" }.joined(separator: ", ")
            ]
        }
        let values = columns.map { _ in "NULL" }.joined(separator: ", ")
        return ["INSERT INTO \(table)(\(columns.joined(separator: ", "))) VALUES (\(values))"]
    }
}
