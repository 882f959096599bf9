import SyncStorage
import SyncValues

/// Who a store is, as `syncd_meta` says it.
package struct StoreIdentity: Hashable, Sendable {
    package let store: StoreID
    package let replica: ReplicaID
    let epoch: Int64

    /// A token of the one is a token of the other.
    func isSameHistory(as other: StoreIdentity) -> Bool {
        store == other.store && epoch == other.epoch
    }

    /// - Throws: `newerFormat`; `corrupt` when the rows make no sense.
    package init(_ settings: Settings) throws {
        let format = try settings.integer(.format)
        guard format <= StoreSchema.format else {
            throw SyncError(
                .newerFormat,
                "the store has format \(format), this version reads up to \(StoreSchema.format)",
                hint: "Install a newer syncd")
        }
        guard format >= 1, case .blob(let store) = try settings.value(.store),
            case .blob(let replica) = try settings.value(.replica),
            let store = StoreID(bytes: store), let replica = ReplicaID(bytes: replica),
            0...LogReader.seqMax ~= (try settings.integer(.epoch))
        else {
            throw SyncError(
                .corrupt, "the table syncd_meta has no valid identity",
                hint: Settings.startOver)
        }
        self.store = store
        self.replica = replica
        self.epoch = try settings.integer(.epoch)
    }
}
