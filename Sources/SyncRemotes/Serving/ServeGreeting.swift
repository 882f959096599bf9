/// The first line of `synctool serve --stdio`. Everything before it is a banner of the remote shell
/// and is ignored.
enum ServeGreeting {
    /// The version of the protocol.
    static let version = 1
    private static let prefix = "syncd-serve "
    /// The maximum length of a banner.
    static let bannerBytesMax = 1 << 20

    static var line: [UInt8] { Array("\(prefix)\(version)\n".utf8) }

    /// The version in a greeting; nil when the line is not a greeting.
    ///
    /// A banner that does not end with a newline precedes the greeting on the same line.
    static func version(in line: [UInt8]) -> Int? {
        let text = String(decoding: line, as: UTF8.self)
        guard let start = text.range(of: prefix, last: true) else { return nil }
        let rest = text[start...].filter { $0 != "\r" }
        return Int(rest)
    }
}

extension String {
    /// The index after the last occurrence of `part`.
    fileprivate func range(of part: String, last: Bool) -> String.Index? {
        var place = endIndex
        while place > startIndex {
            place = index(before: place)
            if self[place...].hasPrefix(part) { return index(place, offsetBy: part.count) }
        }
        return nil
    }
}
