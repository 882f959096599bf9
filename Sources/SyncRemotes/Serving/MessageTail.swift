import Glibc
import Synchronization

/// The end of what a process wrote to its stderr, for an error message.
final class MessageTail: Sendable {
    private static let bytesMax = 4096

    private let state = Mutex((bytes: [UInt8](), isAtEnd: false))

    var isAtEnd: Bool { state.withLock { $0.isAtEnd } }

    /// Reads the available bytes; the descriptor must be readable.
    func read(from descriptor: Int32) {
        var chunk = [UInt8](repeating: 0, count: Self.bytesMax)
        let got = chunk.withUnsafeMutableBytes {
            Glibc.read(descriptor, $0.baseAddress, $0.count)
        }
        state.withLock { state in
            if got > 0 {
                state.bytes = (state.bytes + chunk[..<got]).suffix(Self.bytesMax)
            } else if got == 0 || (errno != EINTR && errno != EAGAIN) {
                state.isAtEnd = true
            }
        }
    }

    /// The last line that is not blank.
    var lastLine: String? {
        let text = state.withLock { String(decoding: $0.bytes, as: UTF8.self) }
        return text.split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }
            .map { $0.trimmingWhitespace() }
    }
}

extension Substring {
    fileprivate func trimmingWhitespace() -> String {
        var rest = drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}
