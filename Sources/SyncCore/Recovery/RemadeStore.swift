import SyncStorage
import SyncValues

/// What the file remembers of a repair that made it a new store while nobody read the report:
/// another program had dropped tables of it beside a daemon.
package struct RemadeStore: Sendable, Hashable {
    /// When the daemon repaired it.
    package let since: Timestamp

    /// - Returns: nil when there was no such repair, or a remote was added since, or somebody has
    ///   seen it.
    /// - Throws: SQLite errors.
    package init?(_ metadata: Metadata) throws {
        let time = try metadata.integer(.remade)
        guard time > 0 else { return nil }
        since = Timestamp(milliseconds: time)
    }

    /// What became of the store, in one sentence without a full stop.
    package var reason: String {
        "another program dropped tables of syncd (found \(since)), and since then this is a new "
            + "store: remotes, keys, policies and conflicts in those tables are gone, and no other "
            + "replica gets anything until a remote is added again"
    }

    /// What to do; `DB` stands for the path.
    package static let hint =
        "If it had a remote: synctool remote remove DB NAME, where it is still listed; then "
        + "synctool remote add DB NAME URL --join by-key. If it had none: synctool doctor DB "
        + "--mend, after which this is not said again"
}
