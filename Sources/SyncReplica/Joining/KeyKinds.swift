import SyncStorage
import SyncValues

/// Which tables have a number as their key, that each replica chooses (`INTEGER PRIMARY KEY`), and
/// which have one that identifies the row.
struct KeyKinds {
    private let isNumber: [String: Bool]

    init(_ tables: [TableSchema]) {
        isNumber = Dictionary(
            tables.map { (SQLName.folded($0.name), $0.isIntegerKey) },
            uniquingKeysWith: { first, _ in first })
    }

    /// - Throws: what opening the file throws; SQLite errors.
    init(of path: String) throws {
        let queue = try DatabaseOpener.open(path, for: .reading)
        defer { try? queue.close() }
        self.init(try queue.read { try SchemaReader($0).tables() })
    }

    /// Checks the tables that a database has in common with the store that it joins: of two kinds,
    /// neither could show the rows of the other.
    /// - Throws: `refused`.
    func require(_ others: KeyKinds) throws {
        let different = others.isNumber.filter { name, isTheirs in
            isNumber[name].map { $0 != isTheirs } ?? false
        }
        guard let (name, isHere) = different.min(by: { $0.key < $1.key }) else { return }
        let (here, there) = (Self.title(isHere), Self.title(!isHere))
        throw SyncError(
            .refused,
            "the key of \(name) is \(here) here, and \(there) in the store: neither could show the "
                + "rows of the other. Nothing was changed",
            hint:
                "Give the table the key of the store, or another name, which keeps its rows apart: "
                + "synctool alter DB \(Shell.quoted("ALTER TABLE \(name) RENAME TO \(name)_2"))")
    }

    private static func title(_ isNumber: Bool) -> String {
        isNumber
            ? "a number of each replica (INTEGER PRIMARY KEY)" : "a value that identifies the row"
    }
}
