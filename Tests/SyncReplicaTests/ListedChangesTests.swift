import SyncMerge
import SyncTesting
import SyncValues
import Testing

@testable import SyncReplica

/// The changes that headers list: what is written is read, as versions before wrote it, too.
@Suite("Lists of changes")
struct ListedChangesTests {
    /// The form of versions before ``ListedChangeWriter``.
    static func long(_ transaction: Batch.Transaction) -> [UInt8] {
        var writer = ByteWriter()
        for text in [transaction.author, transaction.context, transaction.process] {
            writer.append(text.map(Value.text) ?? .null)
        }
        writer.append(transaction.pid.map(Value.integer) ?? .null)
        writer.append(varint: transaction.flags)
        writer.append(varint: UInt64(transaction.changes.count))
        for change in transaction.changes {
            writer.append(change.object)
            writer.append(varint: UInt64(change.entity) << 2 | UInt64(change.kind.rawValue))
            writer.append(varint: UInt64(change.cells.count))
            for cell in change.cells { writer.append(varint: UInt64(cell)) }
        }
        return writer.bytes
    }

    private static let header = TransactionHeader(
        Dot(ReplicaID(high: 1, low: 2), 3), time: HybridTime(rawValue: 4), seen: VersionVector())

    /// Identities that follow each other, that do not, and those at the ends of what a number holds.
    private static func transaction(
        _ random: inout some RandomNumberGenerator
    ) -> Batch.Transaction {
        var transaction = Batch.Transaction(header)
        transaction.author = ["ann", "", nil].randomElement(using: &random) ?? nil
        transaction.context = Bool.random(using: &random) ? "nightly" : nil
        transaction.pid = Bool.random(using: &random) ? 7 : nil
        transaction.flags = UInt64.random(in: 0...3, using: &random)
        let origins = (0..<2).map { _ in UInt64.random(in: 0 ... .max, using: &random) }
        var number: UInt32 = .random(in: 0...100, using: &random)
        for _ in 0..<Int.random(in: 0...40, using: &random) {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: number = [0, 1, .max, .max - 1].randomElement(using: &random) ?? 0
            case 1: number &-= UInt32.random(in: 0...300, using: &random)
            default: number &+= UInt32.random(in: 0...2, using: &random)
            }
            let hash = UInt64(UInt32.random(in: 0 ... .max, using: &random))
            let high = origins.randomElement(using: &random) ?? 0
            let kind: ChangeKind =
                [.insert, .update, .update, .delete].randomElement(using: &random) ?? .insert
            transaction.changes.append(
                Batch.Change(
                    ObjectUID(high: high, low: UInt64(number) << 32 | hash),
                    entity: Int.random(in: 1...2, using: &random), kind: kind,
                    cells: kind == .update
                        ? [[0], [1, 63], []].randomElement(using: &random) ?? [] : []))
        }
        return transaction
    }

    @Test("what is written is read, in both forms", arguments: TestSeed.first(60))
    func readsWhatItWrote(seed: TestSeed) throws {
        var random = seed.random
        let transaction = Self.transaction(&random)
        let short = HeaderDetails.encode(transaction) { Int64($0) }
        for bytes in [short, Self.long(transaction)] {
            let read = try HeaderDetails.decode(bytes, of: Self.header) { Int($0) }
            #expect(read == transaction)
            #expect(try HeaderDetails.author(bytes) == transaction.author)
            let renumbered = try HeaderDetails.renumbered(bytes, shape: 1, cells: [[5], []])
            var other = transaction
            for place in other.changes.indices where other.changes[place].entity == 1 {
                other.changes[place].cells = other.changes[place].cells.contains(0) ? [5] : []
            }
            #expect(try HeaderDetails.decode(renumbered, of: Self.header) { Int($0) } == other)
        }
    }

    @Test("lists that were written apart may follow each other", arguments: TestSeed.first(20))
    func followEachOther(seed: TestSeed) throws {
        var random = seed.random
        let transaction = Self.transaction(&random)
        let cut = Int.random(in: 0...transaction.changes.count, using: &random)
        var lists = [ListedChangeWriter(), ListedChangeWriter()]
        for (place, change) in transaction.changes.enumerated() {
            lists[place < cut ? 0 : 1].append(
                ListedChange(
                    change.object, shape: Int64(change.entity), kind: change.kind,
                    cells: change.cells))
        }
        let bytes = HeaderDetails.encode(
            transaction, changes: lists[0].bytes + lists[1].bytes,
            count: lists[0].count + lists[1].count)
        #expect(try HeaderDetails.decode(bytes, of: Self.header) { Int($0) } == transaction)
    }

    @Test("objects that were made one after the other take five bytes each")
    func size() {
        var list = ListedChangeWriter()
        for number in 1...1000 as ClosedRange<UInt64> {
            let hash = number &* 0x9E37_79B9 & 0xFFFF_FFFF
            list.append(
                ListedChange(
                    ObjectUID(high: 9, low: number << 32 | hash), shape: 3, kind: .insert, cells: []
                ))
        }
        #expect(list.bytes.count == 1 + 16 + 2 + 999 * 5)
    }

    @Test("damaged bytes are an error", arguments: TestSeed.first(200))
    func damage(seed: TestSeed) throws {
        var random = seed.random
        var bytes = HeaderDetails.encode(Self.transaction(&random)) { Int64($0) }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: bytes.indices, using: &random)
            bytes[place] =
                [0, 1, 2, 3, 0x7F, 0xFF, UInt8.random(in: 0...255, using: &random)]
                .randomElement(using: &random) ?? 0
        }
        if Bool.random(using: &random) {
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
        }
        do {
            _ = try HeaderDetails.decode(bytes, of: Self.header) { Int($0) }
            _ = try HeaderDetails.renumbered(bytes, shape: 1, cells: [[], [0]])
        } catch let error as SyncError {
            #expect(error.code == .badData)
        }
    }
}
