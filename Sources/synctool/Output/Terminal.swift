import SyncCore

#if canImport(Glibc)
    import Glibc
#endif

/// One of the process's two outputs: unbuffered, with colour on a terminal.
struct Terminal: Sendable {
    /// The meaning of a piece of text, which decides its colour.
    enum Style: String, CaseIterable {
        case plain = ""
        case faint = "2"
        case strong = "1"
        case added = "32"
        case changed = "33"
        case gone = "31"
        case title = "1;36"

        /// What ``Terminal/styled(_:as:)`` writes.
        static let codes: [String] = (allCases.map(\.rawValue) + ["0"]).filter { !$0.isEmpty }
            .map { "\u{1B}[\($0)m" }
    }

    static let output = Terminal(descriptor: STDOUT_FILENO)
    static let error = Terminal(descriptor: STDERR_FILENO)

    let descriptor: Int32
    /// Whether it is a terminal.
    let isInteractive: Bool
    /// Whether it shows colours: a terminal that is not dumb, without `NO_COLOR`.
    let hasColour: Bool
    /// Whether a line on it can be replaced: a terminal that is not dumb.
    let canErase: Bool
    /// What the outputs write instead, in tests.
    @TaskLocal static var copy: OutputCopy?

    init(descriptor: Int32) {
        self.descriptor = descriptor
        isInteractive = isatty(descriptor) == 1
        let isRefused = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? true
        canErase = isInteractive && !isDumb
        hasColour = canErase && !isRefused
    }

    func styled(_ text: String, as style: Style) -> String {
        hasColour && style != .plain ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes a line, or several. Nothing in it controls the terminal but the styles: names of
    /// files and tables may have any character.
    ///
    /// - Throws: ``OutputClosed`` when the reader has closed it.
    func line(_ text: String = "") throws {
        try raw(Printable.shown(text, keeping: hasColour ? Style.codes : []))
    }

    /// Writes a line with one call, so that lines of several processes do not mix.
    ///
    /// - Throws: ``OutputClosed`` when the reader has closed it.
    func raw(_ text: String) throws {
        if let copy = Self.copy { return copy.add(text + "\n", of: descriptor) }
        if isInteractive { ProgressLine.makeWay() }
        try write(text + "\n")
    }

    /// Writes a text as it is: what a caller made of safe parts.
    ///
    /// - Throws: ``OutputClosed`` when the reader has closed it; `diskFull` or `ioError` when it
    ///   cannot be written.
    func write(_ text: String) throws {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written)
            }
            if count > 0 {
                written += count
            } else if errno != EINTR {
                throw errno == EPIPE ? OutputClosed() : failure(errno)
            }
        }
    }

    private func failure(_ number: Int32) -> SyncError {
        let isFull = number == ENOSPC || number == EDQUOT
        return SyncError(
            isFull ? .diskFull : .ioError,
            "the output cannot be written: \(String(cString: strerror(number)))",
            hint: isFull
                ? "What was written is cut off. Free some space, and run it again"
                : "What was written may be cut off. Look where the output goes to")
    }
}
