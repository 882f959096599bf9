import Crypto
import SyncMerge

/// The hashes that a forger computes, too.
enum SHA256Prefix {
    static func of(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes).prefix(8)) }
    static func whole(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}
