import CLinux
import Glibc

/// The process at the other end of a connection, as the kernel knew it when it connected.
///
/// Decide by `uid` and `groups`; `pid` is for messages only, since another process may get it.
public struct PeerIdentity: Sendable, Hashable {
    /// The process that connected.
    public let pid: Int32
    /// Its effective user.
    public let uid: UInt32
    /// Its effective group.
    public let gid: UInt32
    /// Its supplementary groups.
    public let groups: [UInt32]

    /// Makes an identity, for tests and for callers without a socket.
    public init(pid: Int32, uid: UInt32, gid: UInt32, groups: [UInt32]) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }

    /// The process at the other end of a connected socket; nil when the kernel does not identify
    /// it.
    public init?(socket: CInt) {
        var peer = syncd_peer()
        guard syncd_peer_credentials(socket, &peer) == 0 else { return nil }
        guard let groups = Self.groups(of: socket) else { return nil }
        self.init(pid: peer.pid, uid: peer.uid, gid: peer.gid, groups: groups)
    }

    // Linux allows 65,536 groups a process; almost all have fewer than 64.
    private static func groups(of socket: CInt) -> [UInt32]? {
        for capacity in [64, 65_536] {
            var count: CInt = 0
            let groups = [gid_t](unsafeUninitializedCapacity: capacity) { buffer, used in
                count = syncd_peer_groups(socket, buffer.baseAddress, CInt(capacity))
                used = max(0, Int(count))
            }
            if count >= 0 { return groups }
            if count != -ERANGE { return nil }
        }
        return nil
    }
}
