import SyncReplica
import SyncStorage

/// The remotes of one store, as they were read.
///
/// Policy: the remotes that the configuration names for the path are used. Those that the file
/// names itself are used only when the store is the daemon's own (``FileOwnership``): a user who
/// may write another file would otherwise choose where the daemon connects with its rights and its
/// keys, and what it merges from there. The configuration's win over others of the same name.
///
/// Of a store that encrypts what it sends elsewhere (`Store.isConfidential()`), a remote of the
/// configuration that does not say `encrypted:` is not used: one word that was forgotten would
/// send everything in the clear. One in the file is: `remote add` asked.
struct FoundRemotes: Sendable {
    /// What the daemon synchronises with: those of both that it may use, but for `manual` ones.
    let used: [RemoteEntry]
    /// Those of the file that are not used because the store is not the daemon's own.
    let ignored: [RemoteEntry]
    /// Those of the configuration that are not used because they do not say whether they are
    /// encrypted.
    let undecided: [RemoteEntry]
    /// Those of the file that are used and were added before `remote add` asked.
    let inTheClear: [RemoteEntry]
    /// The user that the file belongs to.
    let owner: UInt32
    /// The file that they were read from: exchanges are made with this one.
    let file: FileIdentity
    let replica: ReplicaID
    /// What was sent to no remote yet.
    let unsent: UnsentTransactions

    init(
        configured: [RemoteEntry], inFile: [RemoteEntry], ownership: FileOwnership,
        isConfidential: Bool, replica: ReplicaID,
        unsent: UnsentTransactions = UnsentTransactions(count: 0, since: nil)
    ) {
        let names = Set(configured.map(\.name))
        let automatic = inFile.filter { $0.options.manual != true }
        let ofFile = ownership.isOwn ? automatic.filter { !names.contains($0.name) } : []
        func isUndecided(_ entry: RemoteEntry) -> Bool {
            isConfidential && entry.options.encrypted == nil
        }
        undecided = configured.filter(isUndecided)
        inTheClear = ofFile.filter(isUndecided)
        used = configured.filter { !isUndecided($0) } + ofFile
        ignored = ownership.isOwn ? [] : automatic
        owner = ownership.owner
        file = ownership.file
        self.replica = replica
        self.unsent = unsent
    }
}
