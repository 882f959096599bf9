/// Where a large value of a tombstone or of old values is stored: it is not sent with its change,
/// but fetched when it is wanted, slice by slice.
public struct ValueReference: Sendable, Hashable {
    /// What kind of value it is.
    public enum Kind: String, Sendable, Hashable {
        /// Bytes.
        case blob
        /// UTF-8.
        case text
    }

    /// The number of the transaction.
    public let transaction: Int64
    /// The position of the change in the store: ``Change/seq`` where the store was read.
    public let change: Int64
    /// The property.
    public let property: String
    /// Blob or text.
    public let kind: Kind
    /// Its size in bytes; that of a text in UTF-8.
    public let bytes: Int

    /// Makes a reference: for decoders.
    public init(transaction: Int64, change: Int64, property: String, kind: Kind, bytes: Int) {
        self.transaction = transaction
        self.change = change
        self.property = property
        self.kind = kind
        self.bytes = bytes
    }
}
