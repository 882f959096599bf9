import ArgumentParser
import SyncCore
import SyncMerge
import SyncRemotes
import SyncReplica
import Varlink

/// `synctool key`
struct Key: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Manage the keys that encrypt the batches of a store.",
        discussion: """
            A carrier of an encrypted remote (a folder, a file syncer) sees only which replica \
            sends batches, when, and their sizes. The keys are stored in the database. Replicas \
            share them as key packets, sealed with a passphrase or for the private key of one \
            person.
            """,
        subcommands: [
            Make.self, Show.self, Share.self, Import.self, Rotate.self, Identity.self,
        ])
}

extension Key {
    /// `synctool key make DB`
    struct Make: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create the first key of a store.", discussion: FileCommandHelp.note)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @OptionGroup var keyFile: KeyFile
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            guard try store.keyRing().keys.isEmpty else {
                throw SyncError(
                    .refused, "the store already has a key", path: store.path,
                    hint: "To use a new key from now on: synctool key rotate DB")
            }
            try keyFile.require(path)
            let key = try store.makeKey()
            try KeyFile.warn(about: path)
            if output.isJSON {
                return try Terminal.output.json(KeyText.json(key, in: try store.keyRing()))
            }
            try Terminal.output.line(
                "\(path): \(key) created. Share it with other replicas: synctool key share "
                    + Shell.quoted(path))
        }
    }

    /// `synctool key show DB`
    struct Show: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the keys by name; never prints a key.",
            discussion: FileCommandHelp.note)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let ring = try store.keyRing()
            if output.isJSON {
                for key in ring.keys { try Terminal.output.json(KeyText.json(key, in: ring)) }
                return
            }
            if ring.keys.isEmpty { try Terminal.output.line("no keys") }
            for line in KeyText.lines(ring) { try Terminal.output.line(line) }
        }
    }

    /// `synctool key share DB`
    struct Share: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the keys as a key packet for another replica.",
            discussion: """
                With --to PUBLIC only the owner of this public key can open it; the recipient \
                prints the key with: synctool key identity. Otherwise a passphrase opens it: send \
                it through another channel. A packet with a passphrase is also a backup of the keys.

                \(FileCommandHelp.note)
                """)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Option(help: ArgumentHelp("The recipient's public key.", valueName: "public"))
        var to: String?
        @OptionGroup var input: KeyInput
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let recipient = try to.map { try SyncRemotes.Identity.Public($0) }
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let ring = try store.keyRing()
            guard !ring.keys.isEmpty else {
                throw SyncError(
                    .refused, "the store has no key", path: store.path,
                    hint: "Create one: synctool key make DB")
            }
            let packet: String
            if let recipient {
                packet = try KeyPacket.make(ring, store: store.id, recipient: recipient)
            } else {
                packet = try KeyPacket.make(
                    ring, store: store.id, passphrase: try input.passphrase(twice: true))
            }
            if output.isJSON { return try Terminal.output.json(["packet": .string(packet)]) }
            try Terminal.output.line(packet)
        }
    }

    /// `synctool key import DB [FILE]`
    struct Import: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add the keys of a key packet to a store.",
            discussion: FileCommandHelp.note)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "The file of the key packet; - for the standard input.") var file = "-"
        @OptionGroup var input: KeyInput
        @OptionGroup var keyFile: KeyFile
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let (id, ring) = try input.ring(from: file)
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            guard id == store.id else {
                throw SyncError(
                    .refused, "the key packet belongs to another store (\(id))", path: store.path,
                    hint: "On a replica of this store (\(store.id)) run: synctool key share REPLICA"
                )
            }
            try keyFile.require(path)
            let count = try store.addKeys(ring)
            try KeyFile.warn(about: path)
            if output.isJSON {
                return try Terminal.output.json(["imported": .integer(Int64(count))])
            }
            try Terminal.output.line(
                "\(path): \(Plural.text(count, of: "new key")) added. Next run: synctool sync "
                    + Shell.quoted(path))
        }
    }

    /// `synctool key rotate DB`
    struct Rotate: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a new key for later batches, or the first one.",
            discussion: """
                Earlier batches are not changed; the old keys are kept to read them. Share the new \
                key with the replicas that need later batches: the old keys do not open them. \
                Batches sealed with an old key from now on are refused; a replica sends them again \
                once it has imported the new one. Sync first, so that less has to be sent twice.

                --keep REPLICA, once for each member that gets the new key, removes all others \
                from the members, on all replicas (see: synctool remote members).

                \(FileCommandHelp.note)
                """)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Option(
            help: ArgumentHelp(
                "A member that gets the new key; the others are removed. May be repeated.",
                valueName: "replica"))
        var keep: [String] = []
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let (kept, removed) = try members()
            let key = try store.makeKey()
            try KeyFile.warn(about: path)
            try remove(removed)
            if output.isJSON {
                return try Terminal.output.json(KeyText.json(key, in: try store.keyRing()))
            }
            try Terminal.output.line(
                "\(path): \(key) is active. Share it with other replicas: synctool key share "
                    + Shell.quoted(path))
            for member in kept {
                try Terminal.output.line("  needs the new key: replica \(member.replica)")
            }
            for member in removed {
                try Terminal.output.line("  removed: replica \(member.replica)")
            }
        }

        /// The members that need the new key, and those that are removed.
        private func members() throws -> (kept: [Member], removed: [Member]) {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            let all = try replica.members().filter { !$0.isRemoved }
            let others = all.filter { !$0.isOwn }
            if keep.isEmpty { return (others, []) }
            let known = try replica.replicaNames()
            // This replica keeps its keys, whether it is named or not.
            let names = Set(
                try keep.map { try Remote.Members.member($0, among: all, names: known) })
            return (
                others.filter { names.contains($0.replica) },
                others.filter { !names.contains($0.replica) }
            )
        }

        private func remove(_ members: [Member]) throws {
            guard !members.isEmpty else { return }
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            for member in members { try replica.setMember(member.replica, isRemoved: true) }
        }
    }

    /// `synctool key identity`
    struct Identity: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print your public key (created on first use).")

        @OptionGroup var output: OutputOptions

        mutating func run() async throws {
            let identity = try SyncRemotes.Identity.atPath(KeyInput.identityPath)
            if output.isJSON {
                return try Terminal.output.json(["public": .string(identity.shared.description)])
            }
            try Terminal.output.line(identity.shared.description)
        }
    }
}
