import Foundation
import SyncMerge
import SyncRemotes
import SyncTesting
import Testing

@Suite("Key packets", .timeLimit(.minutes(10)))
struct KeyPacketTests {
    private let store = SimulatedReplica.store
    private let ring: KeyRing = {
        var ring = KeyRing()
        ring.add(.make(at: Timestamp(milliseconds: 1)), activating: true)
        ring.add(.make(at: Timestamp(milliseconds: 2)), activating: true)
        return ring
    }()

    @Test("a passphrase opens its packet, however its accents are encoded")
    func passphrase() throws {
        let packet = try KeyPacket.make(ring, store: store, passphrase: "caf\u{e9} 7")
        #expect(try KeyPacket.peek(packet) == (store, true))
        let (opened, keys) = try KeyPacket.open(
            "  \(packet)\n", with: .passphrase("cafe\u{301} 7"))
        #expect(opened == store && keys == ring)
        let quick = try KeyPacket.make(
            ring, store: store, passphrase: "caf\u{e9} 7", roundsLog2: 4)
        #expect(throws: SyncError(.notAllowed, "")) {
            try KeyPacket.open(quick, with: .passphrase("cafe 7"))
        }
        #expect(throws: SyncError(.invalidArgument, "")) {
            try KeyPacket.make(ring, store: store, passphrase: "")
        }
    }

    @Test("a packet for a public key is opened only by its private key")
    func recipient() throws {
        let (bob, eve) = (Identity(), Identity())
        let published = try Identity.Public(bob.shared.description)
        let packet = try KeyPacket.make(ring, store: store, recipient: published)
        #expect(try KeyPacket.open(packet, with: .identity(bob)).ring == ring)
        #expect(throws: SyncError(.notAllowed, "")) {
            try KeyPacket.open(packet, with: .identity(eve))
        }
        #expect(throws: SyncError(.notAllowed, "")) {
            try KeyPacket.open(packet, with: .passphrase("x"))
        }
    }

    @Test("hostile packets are errors: never a crash, never memory without bound")
    func hostile() throws {
        let bob = Identity()
        let packet = try KeyPacket.make(ring, store: store, recipient: bob.shared)
        let prefix = "syncd-key-1:"
        let bytes = try #require(Data(base64Encoded: String(packet.dropFirst(prefix.count))))
        let seed = TestSeed.fixed(7)
        var random = seed.random
        for _ in 0..<300 {
            var bad = bytes
            bad[random.below(bad.count)] ^= 1 << UInt8(random.below(8))
            let text =
                prefix
                + bad.prefix(random.below(3) == 0 ? random.below(bad.count) : bad.count)
                .base64EncodedString()
            #expect(throws: SyncError.self, "\(seed)") {
                try KeyPacket.open(text, with: .identity(bob))
            }
        }
        for text in ["", "hello", prefix, prefix + "AAAA", prefix + "%%", "syncd-key-2:AAAA"] {
            #expect(throws: SyncError.self) { try KeyPacket.open(text, with: .identity(bob)) }
        }
        // scrypt with 2^30 rounds would take a terabyte.
        let closed = try KeyPacket.make(ring, store: store, passphrase: "x", roundsLog2: 4)
        var greedy = try #require(Data(base64Encoded: String(closed.dropFirst(prefix.count))))
        greedy[34] = 30
        #expect(throws: SyncError(.badData, "")) {
            try KeyPacket.open(prefix + greedy.base64EncodedString(), with: .passphrase("x"))
        }
    }

    @Test("an identity is made once, for its owner's eyes alone")
    func identityFile() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/config/identity"
        let first = try Identity.atPath(path)
        #expect(try Identity.atPath(path).shared == first.shared)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
        try Data("hello".utf8).write(to: URL(filePath: path))
        #expect(throws: SyncError(.badData, "")) { try Identity.atPath(path) }
    }

    @Test("an identity that others may read or write is not used, and not replaced")
    func wideIdentityFile() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/identity"
        let first = try Identity.atPath(path)
        for mode in [0o644, 0o640, 0o620, 0o601] as [mode_t] {
            chmod(path, mode)
            let error = #expect(throws: SyncError(.refused, "")) { try Identity.atPath(path) }
            #expect(error?.hint?.contains("chmod 600") == true)
        }
        chmod(path, 0o600)
        #expect(try Identity.atPath(path).shared == first.shared)
        // What is there and no file is left alone.
        let other = folder.path + "/folder"
        mkdir(other, 0o700)
        #expect(throws: SyncError(.badData, "")) { try Identity.atPath(other) }
    }

    @Test("a public key with a wrong or missing character is refused")
    func damagedPublicKey() throws {
        let text = Identity().shared.description
        #expect(try Identity.Public(" \(text)\n").description == text)
        for place in 0..<text.count {
            var characters = Array(text)
            characters[place] = characters[place] == "A" ? "B" : "A"
            #expect(throws: SyncError(.invalidArgument, "")) {
                try Identity.Public(String(characters))
            }
        }
        let former = "syncd-public-1:" + Data(repeating: 7, count: 32).base64EncodedString()
        for bad in [String(text.dropLast()), String(text.dropLast(4)), text + "AAAA", former, ""] {
            #expect(throws: SyncError(.invalidArgument, "")) { try Identity.Public(bad) }
        }
    }

    @Test("rings meet: all keys of both, and the newer of the active ones")
    func merging() throws {
        let keys = (1...3).map { StoreKey.make(at: Timestamp(milliseconds: $0)) }
        var ours = KeyRing([keys[0], keys[1]], active: keys[1].id)
        #expect(ours.merge(KeyRing([keys[0], keys[2]], active: keys[0].id)) == 1)
        #expect(ours.active == keys[1].id && ours.keys == keys)
        #expect(ours.merge(KeyRing([keys[2]], active: keys[2].id)) == 0)
        #expect(ours.active == keys[2].id)
        #expect("\(keys[0])".contains(keys[0].id.description) && "\(keys[0])".count < 30)
    }
}
