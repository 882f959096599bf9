import Glibc
import SyncCore
import SyncStorage

/// What `--check-config` finds in the stores that the configuration names, and in the files beside
/// it. The daemon starts all the same, and does not serve these, or not as it was meant.
struct ConfigurationCheck {
    /// One line each: where, which store, what is wrong, what to do.
    private(set) var findings: [String] = []

    /// Looks at each store, as the user that runs this. Changes nothing.
    init(_ configuration: Configuration) {
        findings = configuration.oversights
        var known: ExactMap<Bool> = [:]
        for entry in configuration.stores {
            let path = PathResolution.resolved(entry.path)
            guard known[path] == nil else { continue }
            known[path] = true
            for finding in Self.findings(of: entry, at: path) {
                findings.append("\(Configuration.place(of: entry)): \(entry.path): \(finding)")
            }
        }
    }

    private static func findings(of entry: Configuration.StoreEntry, at path: String) -> [String] {
        do {
            let (isTracked, tables, difference) = try Store.look(
                at: path, comparing: entry.captureChoice, choosesKept: entry.keepsValues != nil)
            if !isTracked, !entry.track {
                return [
                    "the database is not tracked. Track it: synctool track \(Shell.quoted(path)); "
                        + "or give its entry track: true"
                ]
            }
            return missing(entry.entities, of: "entities", in: tables)
                + missing(entry.undo, of: "undo", in: tables)
                + otherwise(difference?.about(tables), than: entry, at: path) + unwritable(path)
                + (HardLinks.problem(with: path).map { ["\($0.reason). \($0.hint ?? "")"] } ?? [])
        } catch {
            guard let error = error as? SyncError else { return ["\(error)"] }
            let hint = error.hint?.replacing("DB", with: Shell.quoted(path))
            return [error.reason + (hint.map { ". \($0)" } ?? "")]
        }
    }

    private static let listedMax = 10

    private static func missing(
        _ names: [String], of key: String, in tables: [String]
    ) -> [String] {
        // SQLite compares the names of tables without regard to the case of ASCII letters.
        let present = Set(tables.map(SQLName.folded))
        return names.filter { $0 != "*" && !present.contains(SQLName.folded($0)) }.map { name in
            let list = tables.prefix(listedMax).joined(separator: ", ")
            return "\(key): there is no table '\(name)'. "
                + (Spelling.nearest(to: name, among: tables).map { "Did you mean '\($0)'?" }
                    ?? "The tables are: \(list)")
        }
    }

    /// What stays as it is recorded when the daemon starts: with `track: true` it adds what is
    /// missing.
    private static func otherwise(
        _ difference: CaptureDifference?, than entry: Configuration.StoreEntry, at path: String
    ) -> [String] {
        guard let difference = entry.track ? difference?.lasting : difference, !difference.isEmpty
        else { return [] }
        return [
            "not recorded as configured: \(entry.text(of: difference)). "
                + entry.remedy(for: difference, path: path)
        ]
    }

    /// The daemon writes the history, and SQLite makes files beside the database.
    private static func unwritable(_ path: String) -> [String] {
        for barred in [path, PathResolution.directory(of: path)] where access(barred, W_OK) != 0 {
            let reason = String(cString: strerror(errno))
            return [
                "this user (uid \(geteuid())) may not write \(Shell.quoted(barred)): \(reason). "
                    + "See docs/syncd.md, Permissions"
            ]
        }
        return []
    }
}

extension Configuration {
    /// What it says that has no effect, one line each: files that are not read, and entries of a
    /// store that has another one, also by a symbolic link.
    var oversights: [String] {
        let unread = ignoredFiles.map { file in
            "\(file): not read: only files that end with .yaml are. Rename or remove it"
        }
        var known: ExactMap<String> = [:]
        let repeated = stores.compactMap { entry -> String? in
            let path = PathResolution.resolved(entry.path)
            let place = Self.place(of: entry)
            guard let first = known[path] else {
                known[path] = place
                return nil
            }
            return "\(place): \(entry.path) is named twice, here and at \(first): the last entry "
                + "counts. Remove one"
        }
        return unread + repeated
    }

    fileprivate static func place(of entry: StoreEntry) -> String {
        entry.place ?? "the configuration"
    }
}
