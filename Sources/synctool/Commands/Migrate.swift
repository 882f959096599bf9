import ArgumentParser
import Glibc
import SyncCore
import SyncReplica

/// `synctool migrate DB -- COMMAND…`
struct Migrate: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run a migration of another program.",
        discussion: """
            Runs the command with the triggers of syncd out of its way: SQLite refuses to drop a \
            column that triggers refer to. Then recreates the triggers, compares the tables with \
            the fingerprints of their rows, and records what changed as one transaction flagged \
            recovered. What other programs committed meanwhile is included. If this command is \
            killed, the next command or the daemon completes the work.

            The exit status is that of the command.

            Example: synctool migrate db.sqlite3 -- python3 manage.py migrate

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The command and its arguments, after --.", valueName: "command"))
    var command: [String] = []

    @OptionGroup var output: OutputOptions
    var database: String? { path }

    func validate() throws {
        guard command.isEmpty else { return }
        throw ValidationError(
            "Give the command after --, for example: synctool migrate DB -- alembic upgrade head")
    }

    mutating func run() async throws {
        let absolute = StorePath.absolute(path)
        let text = command.map(Shell.quoted).joined(separator: " ")
        let held = try HeldCommand(command)
        let unrecorded: SyncError?
        do {
            unrecorded = try Store.recordBeforeSchemaChange(absolute)
            try Store.beginMigration(absolute, of: text, by: [getpid(), held.pid])
        } catch {
            held.cancel()
            throw error
        }
        let status = held.run()
        let report: MigrationReport
        let missed: Int
        do {
            (report, missed) = try end(absolute, of: text)
        } catch let error as SyncError where error.code == .notTracked {
            try say("the command ended with status \(status); the database is not tracked any more")
            throw ExitCode(status == 0 ? 1 : status)
        } catch var error as SyncError {
            error.reason =
                "the command ended with status \(status), but its changes are not "
                + "recorded yet: \(error.reason)"
            error.hint = "Run: synctool doctor DB --mend"
            throw error
        }
        if let unrecorded { try say(UnrecordedText.line(unrecorded)) }
        try show(report, missed: missed, status: status)
        if status != 0 { throw ExitCode(status) }
    }

    /// - Returns: what was found by fingerprints, and how many changes by the records of merging.
    private func end(_ path: String, of text: String) throws -> (MigrationReport, Int) {
        let report = try Store.endMigration(path, of: text)
        guard report.repair.isComparedWhenMerging else { return (report, 0) }
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        return (report, try replica.recordMissed())
    }

    private func show(_ report: MigrationReport, missed: Int, status: Int32) throws {
        if output.isJSON {
            return try Terminal.output.json([
                "status": .integer(Int64(status)),
                "changes": .integer(Int64(report.changes + missed)),
                "token": .text(report.transaction?.description),
                "partlyCompared": .array(report.repair.partlyCompared.map { .string($0) }),
            ])
        }
        let recorded =
            report.transaction.map {
                "recorded \(Plural.text(report.changes, of: "change")) as transaction \($0.number),"
                    + " with what other programs committed meanwhile"
            }
            ?? (missed > 0 ? "recorded \(Plural.text(missed, of: "change"))" : "no row was changed")
        try say("the command ended with status \(status); \(recorded)")
        let findings = report.repair.partlyComparedFindings + report.repair.unreadableFindings
        for finding in findings {
            try say(Printable.text(finding.explanation))
        }
        for loss in report.repair.losses { try say(loss.explanation) }
    }

    /// On stderr: the standard output is the command's.
    private func say(_ text: String) throws { try Terminal.error.line("\(path): \(text)") }
}
