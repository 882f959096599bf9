import SyncValues

/// The identity of an object across replicas: sixteen bytes.
///
/// Random for objects whose key is private to each replica; a hash of entity, key and generation
/// for objects that their key identifies (``NaturalIdentity``). Never recomputed, never used again.
package struct ObjectUID: Identifier, Comparable {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 32 hexadecimal digits; nil for anything else.
    package init?(_ text: String) { self.init(text: text) }

    /// 32 hexadecimal digits.
    package var description: String { text }

    /// The order that decides between equals: the least identity names a row of several.
    package static func < (left: ObjectUID, right: ObjectUID) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
