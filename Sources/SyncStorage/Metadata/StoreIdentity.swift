import SyncValues

/// The identifiers of a store and its epoch, as `syncd_meta` has them.
package struct StoreIdentity: Hashable, Sendable {
    package let store: StoreID
    package let replica: ReplicaID
    package let epoch: Int64

    /// Whether tokens of the one are valid in the other.
    package func isSameHistory(as other: StoreIdentity) -> Bool {
        store == other.store && epoch == other.epoch
    }

    /// - Throws: `newerFormat`; `corrupt` when the rows make no sense.
    package init(_ metadata: Metadata) throws {
        try metadata.requireKnownFormat()
        epoch = try metadata.integer(.epoch)
        guard try metadata.integer(.format) >= 1, 0...Metadata.positionMax ~= epoch else {
            throw Metadata.noIdentity
        }
        store = try metadata.storeID()
        replica = try metadata.replicaID()
    }
}
