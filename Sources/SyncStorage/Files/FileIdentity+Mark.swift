import Foundation

extension FileIdentity {
    /// Which file a replica lives in: inode, time of birth and machine, as `syncd_meta.file` stores
    /// it.
    ///
    /// A file with another mark than the stored one was copied, restored or moved to another file
    /// system: it is a new replica, because two files must never share a replica id.
    package var mark: String { "\(inode).\(birth).\(Self.machine)" }

    /// A hash of the machine's id (FNV-1a, 64 bits): the id itself is never stored.
    private static let machine: String = {
        let id = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ""
        let hash = id.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }()
}
