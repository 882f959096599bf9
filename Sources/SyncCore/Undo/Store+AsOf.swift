import SyncStorage
import SyncValues

/// An object as it was at a position in history.
public struct PastObject: Sendable, Hashable {
    /// Whether it was there.
    public let isPresent: Bool
    /// Its values then, as far as they are known.
    public let values: NamedValues
    /// Properties that were changed since and whose old values were not kept.
    public let unknown: [String]
    /// The values of its key, as far as they are known.
    let key: [Value?]

    init(
        isPresent: Bool, values: NamedValues = NamedValues([]), unknown: [String] = [],
        key: [Value?] = []
    ) {
        (self.isPresent, self.values, self.unknown, self.key) = (isPresent, values, unknown, key)
    }
}

extension Store {
    /// An object's values just after the transaction of a token: the present row, with everything
    /// later taken back.
    ///
    /// - Throws: ``SyncError``: `historyExpired`, `foreignHistory`, `unknownEntity`.
    /// - Complexity: O(changes of the object).
    public func object(
        _ name: ObjectName, asOf token: Token
    ) throws -> PastObject {
        try explaining("as of") {
            try consistentRead(naming: .now) { reader, scan in
                try TokenCheck(reader, identity: identity).check(token)
                var past = PastRows(reader)
                try past.begin(name)
                return try past.takenBack(to: token, by: scan)(name)
            }
        }
    }
}
