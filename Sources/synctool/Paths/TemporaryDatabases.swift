import SyncReplica
import SyncStorage

/// The temporary files of commands that make or join a database: one that was killed leaves them.
enum TemporaryDatabases {
    static func clone(of path: String) -> String { path + ".syncd-part" }
    static func join(of path: String) -> String { path + ".syncd-join" }

    /// Removes what a join has made, or left.
    /// - Throws: `refused` when something that this user did not make has such a name.
    static func removeJoin(of path: String) throws {
        let copy = join(of: path)
        for name in [copy, copy + StoreReplica.draftEnding] { try DraftFile(name).remove() }
    }

    /// The files that are there for a database: of a command that was killed, or still runs.
    static func remains(of path: String) -> [String] {
        [join(of: path), clone(of: path)].flatMap { name in
            [name, name + StoreReplica.draftEnding].flatMap { DraftFile($0).remains }
        }
    }
}
