import Foundation

/// The file that a client appends transactions to, and what was read of it so far.
struct FollowedLog {
    let url: URL
    private var offset: UInt64 = 0
    private(set) var transactions: [Recorded] = []
    private var open: Recorded?

    init(_ scene: Scene, _ name: String) { url = scene.folder.url.appendingPathComponent(name) }

    var lastToken: String? { transactions.last?.token }

    /// Reads the whole lines that were added.
    mutating func read() throws {
        guard let file = FileHandle(forReadingAtPath: url.path) else { return }
        defer { try? file.close() }
        try file.seek(toOffset: offset)
        let data = try file.readToEnd() ?? Data()
        guard let end = data.lastIndex(of: UInt8(ascii: "\n")) else { return }
        transactions += Recorded.all(
            String(decoding: data[...end], as: UTF8.self), goingOn: &open)
        offset += UInt64(end - data.startIndex + 1)
    }

    /// Cuts off the half line that a killed client left.
    mutating func trim() throws {
        try read()
        truncate(url.path, off_t(offset))
    }

    /// Takes what was compared, all but the last, which says where to go on.
    mutating func take(upTo number: Int64) -> [Recorded] {
        let taken = transactions.filter { $0.number <= number }
        transactions = transactions.filter { $0.number > number }
        return taken
    }
}
