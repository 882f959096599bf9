import ArgumentParser
import Foundation
import SyncRemotes
import SyncReplica
import Varlink

/// `synctool remote`
struct Remote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keep the places that a store is synchronised with.",
        discussion: """
            dir:/path is a folder, on a disk, a stick or carried by a file syncer; \
            ssh://[user@]host[:port]/path/to.db is another replica, with synctool on its machine.
            """,
        subcommands: [Add.self, List.self, Remove.self])
}

extension JoinMethod: ExpressibleByArgument {}

extension Remote {
    /// `synctool remote add DB NAME URL`
    struct Add: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a remote to a store.",
            discussion: """
                A folder has to be there; it is made a remote if it is none. A remote of another \
                store is refused, unless --join says what becomes of the rows: by-key takes rows \
                with equal primary keys for the same object; by-unique those with equal values of \
                a UNIQUE constraint, whatever their numbers; separate none but those whose key is \
                no number. The database's own history begins anew, its rows stay; where two rows \
                that are one differ, the other values are in the conflict log.

                An encrypted remote of another store is joined with its keys: --key.

                Example: synctool remote add music.db origin dir:/mnt/shared/music
                """)

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "A name for it; the first one is often called origin.") var name: String
        @Argument(help: "Its address.") var url: String
        @Flag(
            help: "Encrypt what is sent with the store's key, which is made if there is none.")
        var encrypt = false
        @Option(
            help: ArgumentHelp(
                "The key packet of an encrypted remote, from synctool key share; - reads it.",
                valueName: "file"))
        var key: String?
        @OptionGroup var input: KeyInput
        @Option(help: "Join the remote's store: by-key, by-unique or separate.")
        var join: JoinMethod?
        @Option(
            help: ArgumentHelp(
                "synctool on the other machine, where it is not in the PATH.", valueName: "path"))
        var synctool: String?
        @Flag(help: "The daemon leaves it alone: only push, pull and sync use it.")
        var manual = false
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let absolute = StorePath.absolute(path)
            let address = try RemoteAddress(url)
            let isEncrypted = encrypt || key != nil
            if case .ssh = address, isEncrypted {
                throw SyncError(
                    .invalidArgument, "the other side of ssh: is a store, which has to read it",
                    hint: "ssh encrypts the way there: leave \(encrypt ? "--encrypt" : "--key") out"
                )
            }
            var options = RemoteEntry.Options()
            options.encrypted = isEncrypted ? true : nil
            options.synctool = synctool
            options.manual = manual ? true : nil
            let entry = try RemoteEntry(name: name, url: url, options: options)
            let packet = try key.map { try input.ring(from: $0) }
            try await meet(absolute, address, entry, packet)
            let made = try add(entry, absolute, packet?.ring)
            if common.json {
                return try Terminal.output.json(RemoteText.json(entry))
            }
            try Terminal.output.line(
                "\(path): \(name) is \(url). Now: synctool sync \(Shell.quoted(path)) \(name)")
            if let made {
                try Terminal.output.line(
                    "  made \(made); other replicas need it: synctool key share "
                        + Shell.quoted(path))
            }
        }

        /// Sees to it that there is a remote of this store at the address.
        private func meet(
            _ absolute: String, _ address: RemoteAddress, _ entry: RemoteEntry,
            _ packet: (store: StoreID, ring: KeyRing)?
        ) async throws {
            let store = try Store.open(absolute)
            let (id, names) = (store.id, try store.remotes().map(\.name))
            try store.close()
            guard !names.contains(name) else {
                throw SyncError(
                    .refused, "there is a remote '\(name)' already", path: absolute,
                    hint: "Take another name, or run first: synctool remote remove DB \(name)")
            }
            if case .directory(let folder) = address, try DirectoryRemote.isNew(folder) {
                try check(packet?.store, is: id)
                // The schema is looked at before anything is promised to others.
                try StoreReplica(absolute).checkSchema()
                return try DirectoryRemote.create(folder, store: id)
            }
            let other = try await RemoteConnection.store(at: address, options: entry.options)
            try check(packet?.store, is: other)
            if other != id { try await join(absolute, other, entry, packet?.ring) }
            try StoreReplica(absolute).checkSchema()
        }

        private func check(_ keys: StoreID?, is store: StoreID) throws {
            guard let keys, keys != store else { return }
            throw SyncError(
                .refused, "the keys are of another store (\(keys))",
                hint: "Ask for the packet of the remote's: \(store)")
        }

        private func join(
            _ absolute: String, _ other: StoreID, _ entry: RemoteEntry, _ keys: KeyRing?
        ) async throws {
            guard let join else {
                throw SyncError(
                    .refused, "\(url) is a remote of another store (\(other))", path: absolute,
                    hint:
                        "To join it, say how: --join by-key, by-unique or separate (synctool help "
                        + "remote add). Or begin with a clone: synctool clone \(url) NEWFILE")
            }
            let store = try Store.open(absolute)
            let ring = try keys ?? store.keyRing()
            try store.close()
            let remote = try RemoteConnection(
                entry, store: other, replica: DirectoryRemote.nobody, ring: ring)
            let copy = absolute + ".syncd-join"
            remove(copy)
            defer { remove(copy) }
            do {
                try await remote.copy(to: copy)
                await remote.disconnect()
            } catch var error as SyncError {
                await remote.disconnect()
                if error.code == .notAllowed, keys == nil {
                    error.hint =
                        "Ask somebody who has it for: synctool key share, then run again "
                        + "with: --join \(join.rawValue) --key FILE"
                }
                throw error
            } catch {
                await remote.disconnect()
                throw error
            }
            let report = try Store.join(absolute, to: copy, by: join)
            try Terminal.error.line(
                "\(path): joined store \(other) \(join.rawValue): "
                    + "\(Plural.text(report.same, "numbered row")) the same as there; its history "
                    + "of \(Plural.text(report.dropped, "transaction")) begins anew")
        }

        private func remove(_ database: String) {
            for ending in ["", "-wal", "-shm", ".syncd-clone"] { unlink(database + ending) }
        }

        /// - Parameter keys: those of a packet, which become the store's.
        /// - Returns: the key that was made.
        private func add(
            _ entry: RemoteEntry, _ absolute: String, _ keys: KeyRing?
        ) throws -> StoreKey? {
            let store = try Store.open(absolute)
            defer { try? store.close() }
            if let keys { try store.addKeys(keys) }
            var key: StoreKey?
            if entry.isEncrypted, try store.keyRing().keys.isEmpty { key = try store.makeKey() }
            try store.add(remote: entry)
            return key
        }
    }

    /// `synctool remote list DB`
    struct List: StoreCommand {
        static let configuration = CommandConfiguration(abstract: "Show the remotes of a store.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            let remotes = try store.remotes()
            if common.json {
                for remote in remotes { try Terminal.output.json(RemoteText.json(remote)) }
                return
            }
            if remotes.isEmpty { try Terminal.output.line("no remotes") }
            for line in RemoteText.lines(remotes) { try Terminal.output.line(line) }
        }
    }

    /// `synctool remote remove DB NAME`
    struct Remove: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget a remote; what is there stays as it is.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The remote's name.") var name: String
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let store = try Store.open(StorePath.absolute(path))
            defer { try? store.close() }
            try store.remove(remote: name)
        }
    }
}

/// Remotes as lines, or as JSON.
enum RemoteText {
    static func lines(_ remotes: [RemoteEntry]) -> [String] {
        var table = TextTable(styles: [.strong])
        for remote in remotes {
            var remarks: [String] = []
            if remote.isEncrypted { remarks.append("encrypted") }
            if remote.options.manual == true { remarks.append("manual") }
            table.add(remote.name, remote.url, remarks.joined(separator: ", "))
        }
        return table.lines(on: .output)
    }

    static func json(_ remote: RemoteEntry) -> JSONObject {
        [
            "name": .string(remote.name), "url": .string(remote.url),
            "encrypted": .bool(remote.isEncrypted),
            "manual": .bool(remote.options.manual ?? false),
            "synctool": .text(remote.options.synctool),
        ]
    }
}

extension StoreReplica {
    /// - Throws: `cannotTrack` when the schema has something that cannot be merged.
    fileprivate func checkSchema() throws {
        defer { try? close() }
        try prepare()
    }
}
