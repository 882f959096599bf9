import SyncMerge

/// Identities by position, of which some are not known yet; 17 bytes each.
struct IdentityList {
    private var uids: [ObjectUID]
    private var isKnown: [Bool]

    /// - Parameter count: how many positions there are.
    init(count: Int) {
        uids = Array(repeating: ObjectUID(high: 0, low: 0), count: count)
        isKnown = Array(repeating: false, count: count)
    }

    subscript(position: Int) -> ObjectUID? {
        get { isKnown[position] ? uids[position] : nil }
        set {
            uids[position] = newValue ?? ObjectUID(high: 0, low: 0)
            isKnown[position] = newValue != nil
        }
    }
}
