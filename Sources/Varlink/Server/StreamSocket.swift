import Glibc
import NIOCore

/// A stream's own descriptor of its connection's socket. Thread-safe.
///
/// A duplicate, because the channel's descriptor can be closed and its number given to another
/// connection at any time. The client sees the end of the connection only when this one is closed
/// too: its owner releases it as soon as the channel has ended.
final class StreamSocket: Sendable {
    private let descriptor: Int32

    /// Nil when the process has no descriptor left.
    init?(duplicating original: Int32) {
        descriptor = fcntl(original, F_DUPFD_CLOEXEC, 0)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// Sends from `buffer` what the socket accepts without blocking. After an error nothing is
    /// sent: the channel gets the same error.
    func send(_ buffer: inout ByteBuffer) {
        let sent = buffer.withUnsafeReadableBytes {
            Glibc.send(
                descriptor, $0.baseAddress, $0.count,
                Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
        if sent > 0 { buffer.moveReaderIndex(forwardBy: sent) }
    }
}
