import CSQLite
import SyncStorage

/// What SQLite asks its authorizer while it compiles a statement
/// (https://www.sqlite.org/c3ref/c_alter_table.html has the codes).
struct SchemaAction {
    let code: Int32
    /// The two names that the code defines, folded.
    let names: (first: String, second: String)
    let database: String
    /// The trigger or view that the action belongs to, folded; empty: the statement itself.
    let inner: String

    /// The action in words, for the reason of a refusal.
    var text: String {
        let (first, second) = (
            names.first.printable(countMax: 60), names.second.printable(countMax: 60)
        )
        switch code {
        case SQLITE_FUNCTION: return "it calls the function \(second)"
        case SQLITE_READ:
            return second.isEmpty ? "it reads \(first)" : "it reads \(first).\(second)"
        case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE: return "it writes \(first)"
        case SQLITE_RECURSIVE: return "it is recursive"
        case SQLITE_ATTACH: return "it attaches a database"
        case SQLITE_DETACH: return "it detaches a database"
        case SQLITE_PRAGMA: return "it runs the pragma \(first)"
        case SQLITE_CREATE_TABLE, SQLITE_CREATE_TEMP_TABLE: return "it makes the table \(first)"
        case SQLITE_CREATE_VTABLE: return "it makes the virtual table \(first)"
        case SQLITE_CREATE_INDEX, SQLITE_CREATE_TEMP_INDEX: return "it makes the index \(first)"
        case SQLITE_CREATE_VIEW, SQLITE_CREATE_TEMP_VIEW: return "it makes the view \(first)"
        case SQLITE_CREATE_TRIGGER, SQLITE_CREATE_TEMP_TRIGGER:
            return "it makes the trigger \(first)"
        default: return "it does something else (action \(code) of \(first))"
        }
    }
}

/// Judges the actions of statements that somebody else wrote. What SQLite compiles decides, not the
/// text: it asks for every action of a statement while it prepares it
/// (https://www.sqlite.org/c3ref/set_authorizer.html).
///
/// Confined to the call that prepares or runs a statement.
final class SchemaJudge {
    /// More actions than this are refused: a text of some kilobytes can name others so that SQLite
    /// compiles millions.
    private static let actionsMax = 200_000

    private let rule: (SchemaAction) -> Bool
    private var actionCount = 0
    /// Why a statement may not run; nil: nothing was refused.
    private(set) var objection: String?

    /// - Parameter rule: whether an action is allowed.
    init(_ rule: @escaping (SchemaAction) -> Bool) { self.rule = rule }

    /// Runs `body` with the connection's authorizer asking this judge.
    func watch<Result>(_ connection: OpaquePointer, during body: () -> Result) -> Result {
        sqlite3_set_authorizer(
            connection,
            { context, action, first, second, database, inner in
                guard let context else { return SQLITE_DENY }
                let judge = Unmanaged<SchemaJudge>.fromOpaque(context).takeUnretainedValue()
                let text = { (text: UnsafePointer<CChar>?) in
                    text.map { SQLName.folded(String(cString: $0)) } ?? ""
                }
                return judge.allows(
                    SchemaAction(
                        code: action, names: (text(first), text(second)), database: text(database),
                        inner: text(inner))) ? SQLITE_OK : SQLITE_DENY
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { sqlite3_set_authorizer(connection, nil, nil) }
        return body()
    }

    private func allows(_ action: SchemaAction) -> Bool {
        actionCount += 1
        if actionCount > Self.actionsMax {
            objection = objection ?? "SQLite needs more than \(Self.actionsMax) actions for it"
            return false
        }
        if rule(action) { return true }
        objection = objection ?? action.text
        return false
    }
}
