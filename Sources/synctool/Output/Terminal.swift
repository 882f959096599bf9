#if canImport(Glibc)
    import Glibc
#endif

/// One of the process's two outputs: whole texts, unbuffered, and colour where a person looks at
/// it.
struct Terminal: Sendable {
    /// What a piece of text means; colours follow from it.
    enum Style: String {
        case plain = ""
        case faint = "2"
        case strong = "1"
        case added = "32"
        case changed = "33"
        case gone = "31"
        case title = "1;36"
    }

    static let output = Terminal(descriptor: STDOUT_FILENO)
    static let error = Terminal(descriptor: STDERR_FILENO)

    let descriptor: Int32
    /// A person looks at it.
    let isInteractive: Bool
    /// It shows colours: a terminal that is not dumb, and nobody has set `NO_COLOR`.
    let hasColour: Bool

    init(descriptor: Int32) {
        self.descriptor = descriptor
        isInteractive = isatty(descriptor) == 1
        let refused = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? true
        hasColour = isInteractive && !refused && !isDumb
    }

    func styled(_ text: String, _ style: Style) -> String {
        hasColour && style != .plain ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes a line in one piece, so that lines of several processes do not mix.
    ///
    /// - Throws: `OutputClosed` when nobody reads any more.
    func line(_ text: String = "") throws {
        var bytes = Array(text.utf8)
        bytes.append(UInt8(ascii: "\n"))
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress! + written, $0.count - written)
            }
            if count > 0 {
                written += count
            } else if errno != EINTR {
                throw OutputClosed()
            }
        }
    }
}

/// The reader of our output went away, as `head` does. The command ends without a word.
struct OutputClosed: Error {}
