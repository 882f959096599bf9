import CLinux
import Glibc
import SyncCore
import SyncStorage
import Varlink

/// Whether a caller could open a file itself: the daemon shows and changes no more than that.
///
/// Decided as the kernel would, from the caller's uid and groups at `connect()`: search permission
/// on each directory of the path, then permission on the file; POSIX ACLs count. The daemon cannot
/// simply try it: it runs without the privilege to become another user.
enum FilePermission {
    /// What the caller wants to do.
    enum Need {
        case read
        /// Reading and writing.
        case write

        fileprivate var bits: UInt32 { self == .read ? 4 : 6 }
    }

    private static let search: UInt32 = 1

    /// The file at `path` (absolute, links resolved), if `peer` could open it; nil if not, or if
    /// there is a symbolic link on the way.
    ///
    /// The answer is about this very file and the directories that lead to it now: each is checked
    /// through a descriptor of its own (``PathWalk``). A path that is exchanged meanwhile gets the
    /// answer for the one file or for the other, and never for a mixture. The caller compares the
    /// file with the one that it has open.
    ///
    /// - Complexity: O(components of the path), some system calls each.
    static func file(at path: String, for need: Need, peer: PeerIdentity) -> FileIdentity? {
        PathWalk.file(at: path) { descriptor, isLast in
            peer.uid == 0 || allows(isLast ? need.bits : search, on: descriptor, peer: peer)
        }
    }

    /// Whether `peer` could open the file at `path` (absolute, links resolved).
    static func allows(_ need: Need, at path: String, peer: PeerIdentity) -> Bool {
        file(at: path, for: need, peer: peer) != nil
    }

    /// Whether `peer` may search all directories on the way to `path`: then the kernel would tell
    /// it whether there is a file.
    static func reaches(_ path: String, peer: PeerIdentity) -> Bool {
        if peer.uid == 0 { return true }
        var isAllowed = true
        _ = PathWalk.file(at: path) { descriptor, isLast in
            isAllowed = isAllowed && (isLast || allows(search, on: descriptor, peer: peer))
            return isAllowed
        }
        return isAllowed
    }

    /// Whether `peer` may search the folder of a descriptor.
    static func maySearch(_ descriptor: Int32, peer: PeerIdentity) -> Bool {
        peer.uid == 0 || allows(search, on: descriptor, peer: peer)
    }

    private static func allows(
        _ bits: UInt32, on descriptor: Int32, peer: PeerIdentity
    ) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        let mode = UInt32(status.st_mode)
        if peer.uid == status.st_uid { return mode >> 6 & bits == bits }
        if let list = AccessList("/proc/self/fd/\(descriptor)") {
            return list.allows(
                bits, uid: peer.uid, groups: peer.allGroups, owningGroup: status.st_gid)
        }
        if peer.allGroups.contains(status.st_gid) { return mode >> 3 & bits == bits }
        return mode & bits == bits
    }
}

extension PeerIdentity {
    fileprivate var allGroups: [UInt32] { [gid] + groups }
}

/// The POSIX access control list of a file, as acl(5) describes it.
private struct AccessList {
    private struct Entry {
        let tag: UInt16
        let permissions: UInt32
        let id: UInt32
    }

    private static let bytesMax = 4096
    private static let user: UInt16 = 0x02
    private static let owningGroupTag: UInt16 = 0x04
    private static let group: UInt16 = 0x08
    private static let mask: UInt16 = 0x10
    private static let other: UInt16 = 0x20

    private let entries: [Entry]

    /// Nil where the file has none beyond its mode.
    init?(_ path: String) {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.bytesMax) { buffer, used in
            count = syncd_get_attribute(
                path, "system.posix_acl_access", buffer.baseAddress, buffer.count)
            used = max(0, count)
        }
        // A version of four bytes, then entries of eight, all little-endian.
        guard count >= 4, bytes[0] == 2, (count - 4).isMultiple(of: 8) else { return nil }
        func number(at start: Int, width: Int) -> UInt32 {
            (0..<width).reduce(0) { $0 | UInt32(bytes[start + $1]) << (8 * $1) }
        }
        entries = stride(from: 4, to: count, by: 8).map {
            Entry(
                tag: UInt16(number(at: $0, width: 2)), permissions: number(at: $0 + 2, width: 2),
                id: number(at: $0 + 4, width: 4))
        }
    }

    func allows(_ bits: UInt32, uid: UInt32, groups: [UInt32], owningGroup: UInt32) -> Bool {
        let mask = entries.first { $0.tag == Self.mask }?.permissions ?? 7
        if let entry = entries.first(where: { $0.tag == Self.user && $0.id == uid }) {
            return entry.permissions & mask & bits == bits
        }
        let ofGroups = entries.filter {
            $0.tag == Self.owningGroupTag && groups.contains(owningGroup)
                || $0.tag == Self.group && groups.contains($0.id)
        }
        if !ofGroups.isEmpty {
            return ofGroups.contains { $0.permissions & mask & bits == bits }
        }
        let other = entries.first { $0.tag == Self.other }?.permissions ?? 0
        return other & bits == bits
    }
}
