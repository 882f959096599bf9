import CLinux
import Glibc
import Synchronization

/// One end of a Unix socket over which two processes of one service hand each other connected
/// sockets, each with the client that is behind it.
///
/// What comes over it is trusted: it has no name in the file system, and is inherited.
package final class DescriptorChannel: Sendable {
    /// A note is one packet. A client in more groups is known by the first of them: it can do less,
    /// never more.
    private static let groupsMax = 12_000
    private static let noteBytesMax = 256 << 10

    /// The descriptor, for the child process that inherits the other end.
    package let descriptor: CInt

    /// Owns the descriptor from now on.
    package init(adopting descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Two connected ends, closed on exec: the first for this process.
    ///
    /// - Throws: `TransportError` (`cannotConnect`) when the process has no descriptor left.
    package static func pair() throws -> (own: DescriptorChannel, other: CInt) {
        let ends = try UnixSocket.pair(CInt(SOCK_SEQPACKET.rawValue))
        return (DescriptorChannel(adopting: ends.own), ends.other)
    }

    /// Hands over a socket; does not wait. The caller closes its own descriptor.
    ///
    /// - Throws: `TransportError`: `closed` when the other process is gone, or takes nothing.
    package func send(_ passed: CInt, from peer: PeerIdentity) throws {
        let note: JSONObject = [
            "pid": .integer(Int64(peer.pid)), "uid": .integer(Int64(peer.uid)),
            "gid": .integer(Int64(peer.gid)),
            "groups": .array(peer.groups.prefix(Self.groupsMax).map { .integer(Int64($0)) }),
        ]
        var writer = JSONWriter()
        writer.write(note)
        let bytes = writer.bytes
        let error = syncd_send_descriptor(descriptor, passed, bytes, bytes.count)
        guard error == 0 else {
            throw TransportError(
                .closed, "a connection was not taken: \(UnixSocket.message(error))")
        }
    }

    /// Waits for a socket; blocks.
    ///
    /// - Returns: nil when the other process has ended. A descriptor is the caller's to close.
    package func receive() -> (descriptor: CInt, peer: PeerIdentity)? {
        var note = [UInt8](repeating: 0, count: Self.noteBytesMax)
        while true {
            var passed: CInt = -1
            let count = syncd_receive_descriptor(descriptor, &passed, &note, note.count)
            if count < 0, errno == EAGAIN {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&waiting, 1, -1)
                continue
            }
            guard count > 0 else { return nil }
            if passed >= 0, let peer = Self.peer(in: note[..<Int(count)]) { return (passed, peer) }
            if passed >= 0 { close(passed) }
        }
    }

    private static func peer(in note: ArraySlice<UInt8>) -> PeerIdentity? {
        guard let object = (try? JSONParser.parse(note))?.object, let pid = object["pid"]?.integer,
            let uid = object["uid"]?.integer, let gid = object["gid"]?.integer,
            let groups = object["groups"]?.array
        else { return nil }
        return PeerIdentity(
            pid: Int32(clamping: pid), uid: UInt32(clamping: uid), gid: UInt32(clamping: gid),
            groups: groups.compactMap { $0.integer.map { UInt32(clamping: $0) } })
    }
}
