import GRDB
import SyncStorage

extension Tracker {
    /// The names of the tables that can be recorded.
    ///
    /// - Throws: `notADatabase`, `corrupt`, `busy`.
    package func recordableTables() throws -> [String] {
        try queue.read { db in
            try SchemaReader(db).tables()
                .filter { !SQLName.isOwn($0.name) && Self.reasonToLeaveAlone($0) == nil }
                .map(\.name)
        }
    }
}
