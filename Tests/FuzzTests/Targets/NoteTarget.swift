import Crypto

@testable import SyncMerge
@testable import SyncRemotes
@testable import SyncValues

/// What lies beside batches: notes of what was merged, stated sums, key packets, sealed batches.
/// Each as it is, and behind the right check or under the right key, which a member of the store
/// can make.
enum NoteTarget {
    private static let store = StoreID(high: 1, low: 2)
    private static let key = StoreKey(
        bytes: Array(0..<32), created: Timestamp(milliseconds: 1_700_000_000_000))
    private static let identity = Identity()

    @Sendable static func run(_ bytes: [UInt8]) throws {
        guard let key else { throw Finding("32 bytes are a key") }
        var choices = FuzzChoices(bytes)
        let kind = choices.byte() % 8
        let rest = choices.rest
        let ring = KeyRing([key], active: key.id)
        switch kind {
        case 0: try refusing("note") { try MergedNote.decode(rest, store: store) }
        case 1:
            let head: [UInt8] = [0x53, 0x59, 0x4e, 0x56, 1] + store.bytes + rest
            let note = head + SHA256.hash(data: head).prefix(8)
            try refusing("note") { try MergedNote.decode(note, store: store) }
        case 2: _ = SumSeal.open(rest, with: ring)
        case 3:
            guard let sealed = try refusing("sums", { try SumSeal.seal(rest, with: key) }) else {
                return
            }
            try require(SumSeal.open(sealed, with: ring) == rest, "sums do not open")
            try refusing("sums") { try StateSums(rest, store: store) }
        case 4:
            let text = "syncd-key-1:" + String(decoding: rest, as: UTF8.self)
            try refusing("peek") { try KeyPacket.peek(text) }
            try refusing("packet") { try KeyPacket.open(text, with: .identity(identity)) }
        case 5: try packet(rest, ring: ring)
        case 6: try refusing("seal") { try BatchSeal.open(rest, with: ring) }
        default:
            guard let sealed = try refusing("seal", { try BatchSeal.seal(rest, with: key) }) else {
                return
            }
            try refusing("batch") {
                try BatchDecoder.decode(BatchSeal.open(sealed, with: ring))
            }
        }
    }

    /// A real packet with single bytes changed.
    private static func packet(_ bytes: [UInt8], ring: KeyRing) throws {
        var text = Array(
            try KeyPacket.make(ring, store: store, recipient: identity.shared).utf8)
        var choices = FuzzChoices(bytes)
        while !choices.isAtEnd { text[choices.below(text.count)] = choices.byte() }
        let changed = String(decoding: text, as: UTF8.self)
        try refusing("peek") { try KeyPacket.peek(changed) }
        try refusing("packet") { try KeyPacket.open(changed, with: .identity(identity)) }
    }
}
