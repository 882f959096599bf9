import SyncReplica
import SyncStorage

/// The remotes of one store, as they were read.
///
/// Policy: the remotes that the configuration names for the path are used. Those that the file
/// names itself are used only when the store is the daemon's own (``FileOwnership``): a user who
/// may write another file would otherwise choose where the daemon connects with its rights and its
/// keys, and what it merges from there. The configuration's win over others of the same name.
struct FoundRemotes: Sendable {
    /// What the daemon synchronises with: those of both that it may use, but for `manual` ones.
    let used: [RemoteEntry]
    /// Those of the file that are not used because the store is not the daemon's own.
    let ignored: [RemoteEntry]
    /// The user that the file belongs to.
    let owner: UInt32
    /// The file that they were read from: exchanges are made with this one.
    let file: FileIdentity
    let replica: ReplicaID

    init(
        configured: [RemoteEntry], inFile: [RemoteEntry], ownership: FileOwnership,
        replica: ReplicaID
    ) {
        let names = Set(configured.map(\.name))
        let automatic = inFile.filter { $0.options.manual != true }
        used =
            configured + (ownership.isOwn ? automatic.filter { !names.contains($0.name) } : [])
        ignored = ownership.isOwn ? [] : automatic
        owner = ownership.owner
        file = ownership.file
        self.replica = replica
    }
}
