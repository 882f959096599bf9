import ArgumentParser
import SyncReplica
import Varlink

/// `synctool clone URL DB`
struct Clone: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create a new replica from a remote.",
        discussion: """
            The database appears under its name when it is complete. Run the command again to \
            continue an interrupted clone. The new replica gets the remote under the name origin.

            It has the tables, indexes, views, triggers, full-text and R-Tree indexes of the store \
            as they are now, and the rows of the tracked tables. SQL from the remote is checked \
            before it is run; what is not created is listed with the reason, and again by synctool \
            schema.

            Example: synctool clone ssh://kiosk/srv/music.db music.db

            \(FileCommandHelp.note)
            """)

    @Argument(help: "The address of the remote: dir:/path or ssh://host/path/to.db.") var url:
        String
    @Argument(help: ArgumentHelp("The new database file.", valueName: "db")) var path: String
    @Option(help: "The name of the remote in the new replica.") var name = "origin"
    @Option(
        help: ArgumentHelp(
            "The key packet of an encrypted remote, from synctool key share; - for the standard "
                + "input.",
            valueName: "file"), completion: .file())
    var key: String?
    @OptionGroup var input: KeyInput
    @Option(
        help: ArgumentHelp(
            "The path of synctool on the remote machine (default: search the PATH there).",
            valueName: "path"), completion: .file())
    var synctool: String?
    @Flag(
        help:
            "Also make triggers that write tracked tables, and recursive views, after showing them."
    )
    var allowSchema = false
    @OptionGroup var output: OutputOptions
    var database: String? { path }

    mutating func run() async throws {
        let begin = ContinuousClock.now
        let ring = try key.map { try input.ring(from: $0).ring } ?? KeyRing()
        var options = RemoteEntry.Options()
        options.encrypted = key == nil ? nil : true
        options.synctool = synctool
        let result = try await CloneRun(
            url: url, path: StorePath.absolute(path), remoteName: name, options: options,
            ring: ring, allowsSchema: allowSchema
        ).run()
        let (report, refused) = (result.report, result.refused)
        let missing = RefusedText(refused: refused, path: path)
        let begun = BegunSchemaText(comparison: result.comparison, path: path)
        // The new replica is complete; it may have been made of what differs from the others.
        let difference = StateDifference.error(report.differences, path: path)
        var denial = report.denial
        denial?.hint =
            "What could be read is in the new replica. When the rest may be read, run: "
            + "synctool sync \(Shell.quoted(path))"
        let failure = difference ?? denial ?? SkippedText(problems: report.problems).lack(at: path)
        let waiting = WaitingText(waiting: report.waiting, remote: name, path: path)
        if output.isJSON {
            var json = ExchangeText(
                remote: name, report: report, direction: .pull, conflicts: 0,
                duration: .now - begin, compared: nil, path: path
            ).json
            if !refused.isEmpty { json["notMade"] = missing.json }
            if !result.isSchemaKnown { json["schemaKnown"] = .bool(false) }
            if let lack = begun.json { json["schema"] = lack }
            try Terminal.output.json(json)
            try waiting.print()
            if let failure { throw failure }
            return
        }
        try Terminal.output.line(
            "\(path): \(Plural.text(report.pulledCount, of: "transaction")) pulled"
                + " (\(ByteCount.text(Int64(report.bytes))))."
                + " To keep it in sync: synctool sync \(Shell.quoted(path))")
        try SkippedText(problems: report.problems).print()
        try missing.print()
        try begun.print()
        if !result.isSchemaKnown {
            try Terminal.error.line(
                "  not known: what the store has beside these tables and their indexes (views, "
                    + "triggers, other tables): its replicas do not state it. On each of them run: "
                    + "synctool upgrade DB; then: synctool sync DB; then here: synctool schema "
                    + "\(Shell.quoted(path)) --from \(Shell.quoted(name)) --apply")
        }
        try waiting.print()
        if let failure { throw failure }
    }
}
