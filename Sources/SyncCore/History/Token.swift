import SyncValues

/// A position in the history of one replica: just after a transaction. Opaque text outside; compare
/// only tokens of the same store and epoch.
///
/// A token carries a check of its transaction, so that a position in a history that
/// was replaced (a restored backup) is distinguished from one in the present history, even when
/// the numbers were used again.
public struct Token: Sendable, Hashable {
    /// The store.
    public let store: StoreID
    /// Grows when the replica's history was replaced: restored, copied.
    public let epoch: Int64
    /// The number of the transaction just before this position; 0: the beginning.
    public let number: Int64
    /// Derived from the transaction's time; 0 at the beginning.
    package let check: UInt32

    package init(store: StoreID, epoch: Int64, number: Int64, time: Timestamp) {
        self.store = store
        self.epoch = epoch
        self.number = number
        self.check = number == 0 ? 0 : Self.check(of: time)
    }

    package static func check(of time: Timestamp) -> UInt32 {
        UInt32(truncatingIfNeeded: time.milliseconds)
    }
}

extension Token: CustomStringConvertible {
    /// `1.STORE.EPOCH.NUMBER.CHECK`: one word without a character that is special in a shell or a
    /// URL.
    public var description: String {
        "1.\(store).\(epoch).\(number)." + String(check, radix: 16)
    }

    /// Reads what ``description`` wrote.
    ///
    /// - Throws: ``SyncError`` with code `invalidToken`.
    public init(_ text: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0] == "1", let store = StoreID(String(parts[1])),
            let epoch = Int64(parts[2]), let number = Int64(parts[3]), number >= 0,
            let check = UInt32(parts[4], radix: 16)
        else {
            throw SyncError(
                .invalidToken, "'\(text.prefix(80))' is not a token",
                hint: "Use the \"token\" of a line of: synctool history DB --json")
        }
        self.store = store
        self.epoch = epoch
        self.number = number
        self.check = check
    }
}
