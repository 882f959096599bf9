import ArgumentParser
import SyncCore
import SyncMerge
import SyncRemotes
import Varlink

/// `synctool key`
struct Key: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make, share and change the keys that batches are encrypted with.",
        discussion: """
            Who carries the batches of an encrypted remote (a folder, a file syncer) sees sizes \
            alone. The keys lie in the database; replicas share them as packets that a \
            passphrase, or the private key of one person, opens.
            """,
        subcommands: [
            Make.self, Show.self, Share.self, Import.self, Rotate.self, Identity.self,
        ])

    fileprivate static func json(_ key: StoreKey, _ ring: KeyRing) -> JSONObject {
        [
            "key": .string(key.id.description), "created": .string(key.created.description),
            "active": .bool(key.id == ring.active),
        ]
    }
}

extension Key {
    /// `synctool key make DB`
    struct Make: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Make the first key of a store.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            guard try store.keyRing().keys.isEmpty else {
                throw SyncError(
                    .refused, "the store has a key already",
                    hint: "To use another one from now on: synctool key rotate DB")
            }
            let key = try store.makeKey()
            if common.json { return try Terminal.output.json(Key.json(key, try store.keyRing())) }
            try Terminal.output.line(
                "\(path): made \(key). Other replicas need it: synctool key share "
                    + Shell.quoted(path))
        }
    }

    /// `synctool key show DB`
    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the names of the keys, never the keys.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let ring = try store.keyRing()
            if common.json {
                for key in ring.keys { try Terminal.output.json(Key.json(key, ring)) }
                return
            }
            if ring.keys.isEmpty { try Terminal.output.line("no keys") }
            var table = TextTable(styles: [.strong])
            for key in ring.keys {
                table.add(
                    key.id.description, LocalTime.text(key.created),
                    key.id == ring.active ? "active" : "to read with")
            }
            for line in table.lines(on: .output) { try Terminal.output.line(line) }
        }
    }

    /// `synctool key share DB`
    struct Share: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the keys as a packet for somebody else.",
            discussion: """
                With --to PUBLIC only this person can open it (who prints it with: synctool key \
                identity). Without, a passphrase opens it: tell it on another way. A packet with a \
                passphrase is a backup of the keys, too.
                """)

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Option(help: ArgumentHelp("The other person's public key.", valueName: "public"))
        var to: String?
        @OptionGroup var input: KeyInput
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let ring = try store.keyRing()
            guard !ring.keys.isEmpty else {
                throw SyncError(
                    .refused, "the store has no key", hint: "Run: synctool key make DB")
            }
            let packet: String
            if let to {
                packet = try KeyPacket.make(
                    ring, store: store.id, recipient: try SyncRemotes.Identity.Public(to))
            } else {
                packet = try KeyPacket.make(
                    ring, store: store.id, passphrase: try input.passphrase(twice: true))
            }
            if common.json { return try Terminal.output.json(["packet": .string(packet)]) }
            try Terminal.output.line(packet)
        }
    }

    /// `synctool key import DB [FILE]`
    struct Import: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add the keys of a packet to a store.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The packet's file; - reads it.") var file = "-"
        @OptionGroup var input: KeyInput
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let (id, ring) = try input.ring(from: file)
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            guard id == store.id else {
                throw SyncError(
                    .refused, "the keys are of another store (\(id))",
                    hint: "Ask for the packet of this one: \(store.id)")
            }
            let count = try store.addKeys(ring)
            if common.json { return try Terminal.output.json(["imported": .integer(Int64(count))]) }
            try Terminal.output.line(
                "\(path): \(Plural.text(count, "new key")). Now: synctool sync "
                    + Shell.quoted(path))
        }
    }

    /// `synctool key rotate DB`
    struct Rotate: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Use a new key from now on.",
            discussion: """
                Old batches stay as they are, and the old keys, to read them with. Share the new \
                key with those who are to go on; who only has the old ones reads nothing new.
                """)

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let key = try store.makeKey()
            if common.json { return try Terminal.output.json(Key.json(key, try store.keyRing())) }
            try Terminal.output.line(
                "\(path): \(key) from now on. Other replicas need it: synctool key share "
                    + Shell.quoted(path))
        }
    }

    /// `synctool key identity`
    struct Identity: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print your public key, which is made at the first time.")

        @OptionGroup var common: CommonOptions

        mutating func run() async throws {
            let identity = try SyncRemotes.Identity.atPath(KeyInput.identityPath)
            if common.json {
                return try Terminal.output.json(["public": .string(identity.shared.description)])
            }
            try Terminal.output.line(identity.shared.description)
        }
    }
}
