import ArgumentParser
import SyncRemotes
import SyncReplica

extension JoinMethod: ExpressibleByArgument {}

extension Remote {
    /// `synctool remote add DB NAME URL`
    struct Add: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add a remote to a store.",
            discussion: """
                The folder must exist; one that is not a remote yet becomes a remote of this \
                store.

                A remote of another store is refused without --join, which makes the database a \
                replica of that store. by-key: rows with equal primary keys are the same object; \
                by-unique: rows with equal values of a UNIQUE constraint are; separate: only rows \
                whose primary key is not an integer are. The database keeps its rows and starts \
                a new history. Where the same object differs, the other values become conflicts.

                To join an encrypted remote, pass its keys with --key.

                If the store has a key or an encrypted remote, a remote that is not encrypted (ssh \
                included) is refused without --in-clear.

                Example: synctool remote add music.db origin dir:/mnt/shared/music

                \(FileCommandHelp.note)
                """)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "A name for the remote, for example origin.") var name: String
        @Argument(help: "The address: dir:/path or ssh://[user@]host[:port]/path/to.db.")
        var url: String
        @Flag(help: "Encrypt batches with the store's key (created if there is none).")
        var encrypt = false
        @Flag(
            help: "Send everything unencrypted, though the store has a key or an encrypted remote.")
        var inClear = false
        @Option(
            help: ArgumentHelp(
                "The key packet of an encrypted remote, from synctool key share; - for the "
                    + "standard input.",
                valueName: "file"), completion: .file())
        var key: String?
        @OptionGroup var input: KeyInput
        @OptionGroup var keyFile: KeyFile
        @Option(help: ArgumentHelp("Join the remote's store.", valueName: "method"))
        var join: JoinMethod?
        @Option(
            help: ArgumentHelp(
                "The path of synctool on the remote machine (default: search the PATH there).",
                valueName: "path"))
        var synctool: String?
        @Flag(help: "Exclude the remote from synchronisation by the daemon.")
        var manual = false
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        func validate() throws {
            guard inClear, encrypt || key != nil else { return }
            throw ValidationError(
                "--in-clear and \(encrypt ? "--encrypt" : "--key") exclude each other.")
        }

        mutating func run() async throws {
            let address = try RemoteAddress(url)
            let isEncrypted = encrypt || key != nil
            if case .ssh = address, isEncrypted {
                throw SyncError(
                    .invalidArgument, "an ssh: remote cannot be encrypted: it is a store itself",
                    hint:
                        "ssh encrypts the connection: leave out \(encrypt ? "--encrypt" : "--key")"
                )
            }
            var options = RemoteEntry.Options()
            options.encrypted = isEncrypted ? true : inClear ? false : nil
            options.synctool = synctool
            options.manual = manual ? true : nil
            let entry = try RemoteEntry(name: name, url: url, options: options)
            let packet = try key.map { try input.ring(from: $0) }
            let setup = RemoteSetup(
                path: path, address: address, entry: entry, packet: packet, keyFile: keyFile,
                joinMethod: join)
            let created = try await ProgressLine.during("remote add") { try await setup.run() }
            if output.isJSON { return try Terminal.output.json(RemoteText.json(entry)) }
            try Terminal.output.line(
                "\(path): remote \(name) added: \(url). "
                    + "Next run: synctool sync \(Shell.quoted(path)) \(name)")
            if let created {
                try Terminal.output.line(
                    "  \(created) created; share it with other replicas: synctool key share "
                        + Shell.quoted(path))
            }
        }
    }
}
