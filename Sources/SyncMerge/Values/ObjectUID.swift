import SyncValues

/// The identity of an object across replicas: sixteen bytes.
///
/// Made from the insert for objects whose key is a number; a hash of entity, key and generation for
/// objects that their key identifies (``NaturalIdentity``). Never recomputed, never reused.
package struct ObjectUID: Identifier, Comparable {
    /// The first eight bytes, big endian.
    package let high: UInt64
    /// The last eight bytes, big endian.
    package let low: UInt64

    /// Makes an identity of its bytes.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 32 hexadecimal digits; nil for anything else.
    package init?(_ text: String) { self.init(text: text) }

    /// 32 hexadecimal digits.
    package var description: String { text }

    /// The order that breaks ties: a row of several identities is named by the least of them.
    package static func < (left: ObjectUID, right: ObjectUID) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
