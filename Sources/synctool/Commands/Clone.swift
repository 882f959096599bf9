import ArgumentParser
import SyncReplica
import Varlink

/// `synctool clone URL DB`
struct Clone: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a new replica from a remote.",
        discussion: """
            The database appears under its name when all is there; an interrupted clone goes on \
            when it is run again. The remote is called origin in it.

            Example: synctool clone ssh://kiosk/srv/music.db music.db
            """)

    @Argument(help: "The remote's address.") var url: String
    @Argument(help: ArgumentHelp("The new database file.", valueName: "db")) var path: String
    @Option(help: "What the remote is called in the new store.") var name = "origin"
    @Option(
        help: ArgumentHelp(
            "The key packet of an encrypted remote, from synctool key share; - reads it.",
            valueName: "file"))
    var key: String?
    @OptionGroup var input: KeyInput
    @Option(
        help: ArgumentHelp(
            "synctool on the other machine, where it is not in the PATH.", valueName: "path"))
    var synctool: String?
    @OptionGroup var common: CommonOptions
    var database: String? { path }

    mutating func run() async throws {
        let begin = ContinuousClock.now
        let ring = try key.map { try input.ring(from: $0).ring } ?? KeyRing()
        var options = RemoteEntry.Options()
        options.encrypted = key == nil ? nil : true
        options.synctool = synctool
        let report = try await CloneRun(
            url: url, path: StorePath.absolute(path), remoteName: name, options: options, ring: ring
        ).run()
        let waiting = WaitingText(waiting: report.waiting, path: path)
        if common.json {
            try Terminal.output.json(
                ExchangeLine(
                    remote: name, report: report, direction: .pull, conflicts: 0,
                    duration: .now - begin, path: path
                ).json)
            return try waiting.print()
        }
        try Terminal.output.line(
            "\(path): \(Plural.text(report.pulledCount, "transaction")) pulled"
                + " (\(StatusText.bytes(Int64(report.bytes))))."
                + " Keep it so with: synctool sync \(Shell.quoted(path))")
        try waiting.print()
    }
}
