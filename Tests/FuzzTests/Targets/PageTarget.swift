import CSQLite
import Foundation
import GRDB
import SyncTesting

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Pages of the WAL as readers take them from the file, past SQLite: a leaf of a b-tree, records of
/// the log, the ends of transactions in a daemon's journal, and a whole WAL.
enum PageTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        switch choices.byte() % 5 {
        case 0: leaf(padded(choices.rest, to: 512))
        case 1: leaf(made(&choices))
        case 2:
            let path = FuzzFolder.file("journal")
            try write(choices.rest, to: path)
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            _ = NamedJournals.united(BoundaryJournal.boundaries(in: descriptor))
            _ = BoundaryJournal.marks(in: descriptor)
        case 3: try scan(choices.rest, isChanged: false)
        default: try scan(choices.rest, isChanged: true)
        }
    }

    private static func padded(_ bytes: [UInt8], to count: Int) -> [UInt8] {
        Array((bytes + Array(repeating: 0, count: count)).prefix(count))
    }

    /// A leaf with cells at chosen places and records with chosen types.
    private static func made(_ choices: inout FuzzChoices) -> [UInt8] {
        var page = [UInt8](repeating: 0, count: 1024)
        page[0] = 0x0d
        let count = choices.below(6)
        page[4] = UInt8(count)
        var end = page.count
        for cell in 0..<count {
            var types: [UInt8] = [0]
            var body: [UInt8] = []
            for _ in 0..<10 {
                let type = choices.byte() % 26
                types.append(type)
                let size = type < 10 ? [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][Int(type)] : Int(type) / 2
                body += choices.some(min(size, 8))
            }
            let odd = choices.byte()
            let header = odd == 255 ? choices.byte() : UInt8(types.count + 1)
            let record = [header] + types + body
            let size = odd == 254 ? choices.some(2) : [UInt8(record.count & 0x7f)]
            let bytes = size + [UInt8(cell + 1)] + record
            end -= min(bytes.count, end - 64)
            page.replaceSubrange(end..<min(page.count, end + bytes.count), with: bytes)
            page = padded(page, to: 1024)
            (page[8 + 2 * cell], page[9 + 2 * cell]) = (UInt8(end >> 8), UInt8(end & 255))
        }
        while !choices.isAtEnd {
            page[Int(choices.byte()) << 2 | Int(choices.byte() & 3)] = choices.byte()
        }
        return page
    }

    private static func leaf(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { page in
            for last in [Int64.max, 5] {
                for after in [Int64.min, 0, 3] {
                    let filter = LeafEnd.Filter(after: after, newest: last, columnCountMax: 12)
                    _ = LeafEnd.find(in: page, filter)
                    _ = LogCell.rows(of: page, after: after)
                }
            }
            _ = LeafEnd.lastRow(of: page)
        }
    }

    // MARK: A whole WAL

    private struct Sample {
        let database: [UInt8]
        let wal: [UInt8]
    }

    /// A tracked store with a few commits in its WAL.
    private static let sample: Sample? = try? {
        let path = FuzzFolder.file("wal.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        try Store.track(path)
        try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in 0..<6 {
            try connection.run("INSERT INTO note(text) VALUES ('row \(number)')")
            try connection.run("UPDATE note SET text = text || '!' WHERE id = 1")
        }
        defer { connection.close() }
        return Sample(
            database: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))),
            wal: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))))
    }()

    /// Reads a changed WAL as a reader that has seen its header, and as a store that is opened.
    private static func scan(_ bytes: [UInt8], isChanged: Bool) throws {
        guard let sample else { throw Finding("the sample cannot be made") }
        let path = FuzzFolder.file("scan.db")
        FuzzFolder.remove(path)
        try write(sample.database, to: path)
        var wal = sample.wal
        var choices = FuzzChoices(bytes)
        if isChanged {
            while !choices.isAtEnd {
                let frame = choices.below(max(1, (wal.count - 32) / 4120))
                let offset = 32 + frame * 4120 + (Int(choices.byte()) << 8 | Int(choices.byte()))
                wal[offset % wal.count] = choices.byte()
            }
        } else {
            wal.replaceSubrange(32..<min(wal.count, 32 + bytes.count), with: bytes)
        }
        let connection = try PlainConnection(path)
        _ = try? connection.rows("SELECT count(*) FROM note")
        connection.close()
        try write(wal, to: path + "-wal")
        try refusing("open") {
            let store = try Store.open(path)
            defer { try? store.close() }
            try refusing("poll") { try store.poll() }
            try refusing("history") { try store.history() }
            try overwritten(store, with: wal, at: path)
        }
    }

    /// The frames change under a reader that has the file open.
    private static func overwritten(_ store: Store, with wal: [UInt8], at path: String) throws {
        try refusing("scan") {
            try store.reading.read { reader in
                guard let index = try WalIndex(reader.connection), let header = index.header(),
                    let file = SQLiteFile.journal(reader.connection)
                else { return }
                for frame in [UInt32(0), 1, 3] {
                    var scan = WalScan(
                        LeafEnd.Filter(after: 0, newest: .max, columnCountMax: 12))
                    let position = WalPosition(
                        header, frame: frame, checksum: header.checksum, changeCount: 0)
                    _ = scan.add(file, after: position, to: max(frame, header.frameCount))
                    scan.addRest(file, after: position)
                }
            }
        }
    }
}
