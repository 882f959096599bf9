import Foundation
import SyncStorage
import SyncValues

/// Which file a replica lives in: inode, time of birth and machine, as `syncd_meta.file` keeps it.
///
/// A file with another mark than the one it carries was copied, restored or moved to another file
/// system: it is a new replica, because two files must never go on under one replica id.
struct FileMark: Hashable {
    let text: String

    /// The mark of a file.
    init(_ file: FileIdentity) {
        text = "\(file.inode).\(file.birth).\(Self.machine)"
    }

    /// Nothing of the machine's id itself is stored, only a hash of it (FNV-1a, 64 bits).
    private static let machine: String = {
        let id = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ""
        let hash = id.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return String(hash, radix: 16)
    }()
}
