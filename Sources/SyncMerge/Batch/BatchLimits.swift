/// The limits of a batch. A reader refuses more before it allocates memory for it; a writer cuts
/// its batches so that they stay below.
package enum BatchLimits {
    /// The envelope, vectors included: room for some 2,500 replicas.
    package static let envelopeBytesMax = 64 << 10
    /// The content before compression. Too small: clones need many slices. Too large: one batch
    /// takes the memory of the machine that decodes it.
    package static let contentBytesMax = 256 << 20
    /// Transactions in a batch.
    package static let transactionsMax = 1 << 20
    /// Facts, objects or changes in a batch: one byte of content may take some hundred bytes
    /// in memory, so that bytes alone are no limit.
    package static let factsMax = 1 << 22
    /// Entities, and columns of one.
    package static let entitiesMax = 1 << 16
    /// Decisions about members.
    package static let decisionsMax = 1_024
    /// The name of a replica: more than a name may have now (``ReplicaName``).
    static let nameBytesMax = 1 << 10
    /// How much longer a payload is when it is sealed: a nonce and a tag.
    static let sealBytes = 12 + 16
    /// zstd's window: what a decoder must keep, as a power of two.
    static let windowLog: Int32 = 25
}
