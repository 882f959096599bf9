/// An identifier of sixteen random bytes, never used again.
package protocol Identifier: Sendable, Hashable, CustomStringConvertible {
    var high: UInt64 { get }
    var low: UInt64 { get }
    init(high: UInt64, low: UInt64)
}

extension Identifier {
    /// A new identifier from the system's random numbers.
    package static func random() -> Self {
        Self(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }

    /// - Parameter bytes: exactly sixteen; nil otherwise.
    package init?(bytes: [UInt8]) {
        guard let read = bytes.withUnsafeBytes({ Self(bytes: $0) }) else { return nil }
        self = read
    }

    /// - Parameter bytes: exactly sixteen; nil otherwise.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// - Parameter text: 32 hexadecimal digits; nil otherwise.
    package init?(text: some StringProtocol) {
        guard let bytes = Hex.decode(text) else { return nil }
        self.init(bytes: bytes)
    }

    package var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16) { bytes, count in
            for index in 0..<16 {
                let word = index < 8 ? high : low
                bytes[index] = UInt8(truncatingIfNeeded: word >> (56 - 8 * UInt64(index & 7)))
            }
            count = 16
        }
    }

    package var text: String { Hex.encode(bytes) }

    /// What tables find identifiers by: two products, the first one with numbers that differ in
    /// each process, so that nobody can choose identifiers which collide. The hash of the standard
    /// library is as well spread, and its rounds cost more than all else that a table does for
    /// sixteen bytes. The second product is what spreads identifiers that are counted up.
    @inlinable
    public func _rawHashValue(seed: Int) -> Int {
        let seed = UInt64(bitPattern: Int64(seed))
        let once = IdentifierHash.folded(
            high ^ IdentifierHash.first, low ^ (IdentifierHash.second &+ seed))
        return Int(truncatingIfNeeded: IdentifierHash.folded(once, IdentifierHash.odd))
    }
}

/// What the hashes of identifiers are made with.
@usableFromInline
package enum IdentifierHash {
    @usableFromInline static let first = UInt64.random(in: 0 ... .max)
    @usableFromInline static let second = UInt64.random(in: 0 ... .max)
    /// 2^64 divided by the golden ratio.
    @usableFromInline static let odd: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The two halves of a product, as one word.
    @inlinable
    static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

/// Identifies a store, that is, all its replicas. Made when the first replica was tracked.
public struct StoreID: Identifier {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 32 hexadecimal digits; nil for anything else.
    public init?(_ text: String) { self.init(text: text) }

    /// 32 hexadecimal digits.
    public var description: String { text }
}

/// Identifies one replica of a store. A copied or restored file gets a new one.
public struct ReplicaID: Identifier {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 32 hexadecimal digits; nil for anything else.
    public init?(_ text: String) { self.init(text: text) }

    /// 32 hexadecimal digits.
    public var description: String { text }
}
