import Testing

@testable import SyncReplica

/// Records in files that are damaged, or were written by somebody else.
@Suite("The bytes of a record")
struct LaneRecordTests {
    /// One insert, one cell with one version: NULL.
    private static let record: [UInt8] = [1, 0, 1, 1, 6, 1, 1, 1, 6, 1, 0]
    private static let greatest = [UInt8](repeating: 0xFF, count: 9) + [1]

    private func isRead(_ bytes: [UInt8]) -> Bool {
        var record = LaneRecord()
        return bytes.withUnsafeBytes { record.read($0, widths: [1]) }
    }

    @Test("that end too soon, or go on, are no record")
    func length() {
        #expect(isRead(Self.record))
        for count in Self.record.indices { #expect(!isRead(Array(Self.record.prefix(count)))) }
        #expect(!isRead(Self.record + [0]))
    }

    @Test("that count more facts than they have are no record")
    func counts() {
        #expect(!isRead(Self.greatest + Self.record.dropFirst()))
        let cells = Array(Self.record.prefix(6))
        #expect(!isRead(cells + Self.greatest))
        #expect(!isRead(cells + Self.greatest + [1, 6, 1, 0]))
    }
}
