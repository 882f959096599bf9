import Glibc

/// Splits what comes out of a pipe into lines.
struct LineSplitter {
    private let bytesMax: Int
    private var rest: [UInt8] = []

    /// - Parameter bytesMax: a longer line is given in pieces.
    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Reads once, and gives each line that is complete.
    ///
    /// - Returns: false at the end, or when nothing is there to read.
    mutating func read(from descriptor: Int32, _ body: (String) -> Void) -> Bool {
        var count = 0
        let new = [UInt8](unsafeUninitializedCapacity: bytesMax) { buffer, used in
            repeat {
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            } while count < 0 && errno == EINTR
            used = max(0, count)
        }
        guard count > 0 else { return false }
        rest += new
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            body(String(decoding: rest[..<end], as: UTF8.self))
            rest.removeSubrange(...end)
        }
        if rest.count >= bytesMax { finish(body) }
        return true
    }

    /// Gives the line that has no end.
    mutating func finish(_ body: (String) -> Void) {
        if !rest.isEmpty { body(String(decoding: rest, as: UTF8.self)) }
        rest = []
    }
}
