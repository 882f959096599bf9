import CSQLite
import SyncMerge
import SyncStorage
import SyncValues

/// Makes objects of a received schema on a confined connection: each by its own statement, under a
/// judge that allows this kind of object, of this name, and nothing else.
///
/// SQLite compiles the body of a view or trigger when it is used; ``SchemaReview`` uses each before
/// anything is made in a database.
struct ObjectMaker {
    private let connection: OpaquePointer

    init(_ connection: OpaquePointer) { self.connection = connection }

    /// Makes an object.
    /// - Throws: `badData`, with the reason, for a text that is refused; SQLite errors.
    func make(_ object: SchemaObject) throws {
        guard ReceivedNames.isUsable(object.name), ReceivedNames.isUsable(object.table) else {
            throw SyncError(.badData, "the name belongs to syncd or to SQLite")
        }
        switch object.kind {
        case .table, .index:
            try ReceivedSchema.run(
                object.sql, tables: [SQLName.folded(object.table)], on: connection)
            guard try has(object) else { throw SyncError(.badData, "it makes something else") }
        case .view: try make(object, action: SQLITE_CREATE_VIEW)
        case .trigger: try make(object, action: SQLITE_CREATE_TRIGGER)
        case .virtualTable: try makeVirtualTable(object)
        }
    }

    /// Removes what ``make(_:)`` has just made.
    /// - Throws: SQLite errors.
    func remove(_ object: SchemaObject) throws {
        let kind = object.kind == .virtualTable ? "table" : object.kind.word
        try RawTransaction.execute(
            "DROP \(kind.uppercased()) \(SQLName.quoted(object.name))", on: connection)
    }

    private func make(_ object: SchemaObject, action wanted: Int32) throws {
        let (name, table) = (SQLName.folded(object.name), SQLName.folded(object.table))
        var isCreating = false
        let judge = SchemaJudge { action in
            guard action.database == "main" else { return false }
            let (first, second) = action.names
            switch action.code {
            case wanted:
                isCreating = true
                return first == name && (wanted == SQLITE_CREATE_VIEW || second == table)
            case SQLITE_READ, SQLITE_INSERT, SQLITE_UPDATE:
                return ReceivedNames.schemaTables.contains(first)
            default: return false
            }
        }
        try ConfinedStatement(object.sql, on: connection).run(judge, isAllowed: { isCreating })
    }

    /// A module makes the tables that it keeps by statements of its own.
    private func makeVirtualTable(_ object: SchemaObject) throws {
        let text: VirtualTableText
        do { text = try VirtualTableText(object) } catch let refusal as VirtualTableText.Refusal {
            throw SyncError(.badData, refusal.reason)
        }
        let name = SQLName.folded(object.name)
        let content = text.content.map(SQLName.folded) ?? ""
        guard content.isEmpty || ReceivedNames.isUsable(content) else {
            throw SyncError(.badData, "its content is a table of syncd or of SQLite")
        }
        var isCreating = false
        let judge = SchemaJudge { action in
            let (first, second) = action.names
            let isOwn = first == name || first.hasPrefix(name + "_")
            switch action.code {
            case SQLITE_SELECT: return true
            case SQLITE_FUNCTION: return !ReceivedNames.refusedFunctions.contains(second)
            case SQLITE_PRAGMA: return ["page_size", "data_version"].contains(first)
            default: break
            }
            guard action.database == "main" else { return false }
            switch action.code {
            case SQLITE_CREATE_VTABLE:
                isCreating = true
                return first == name && second == text.module
            case SQLITE_CREATE_TABLE: return isCreating && isOwn
            case SQLITE_CREATE_INDEX: return isCreating
            case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
                return isOwn || ReceivedNames.schemaTables.contains(first)
            case SQLITE_READ:
                return isOwn || first == content || ReceivedNames.schemaTables.contains(first)
            default: return false
            }
        }
        try ConfinedStatement(object.sql, on: connection).run(judge, isAllowed: { isCreating })
    }

    private func has(_ object: SchemaObject) throws -> Bool {
        let select = try Statement(
            "SELECT 1 FROM main.sqlite_schema WHERE type = ?1 AND lower(name) = lower(?2)",
            on: connection)
        select.bind(object.kind.word, at: 1)
        select.bind(object.name, at: 2)
        return try select.step()
    }
}
