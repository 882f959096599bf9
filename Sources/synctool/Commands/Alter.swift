import ArgumentParser
import SyncCore
import SyncReplica
import Varlink

/// `synctool alter DB SQL`
struct Alter: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change the schema of a tracked database.",
        discussion: """
            Executes the statements and recreates the triggers in one transaction. SQLite itself \
            refuses to drop a column that triggers refer to, and a table that is rebuilt loses \
            its triggers.

            Example: synctool alter music.db "ALTER TABLE Album DROP COLUMN Year"

            SQL that begins with a comment looks like an option: put -- before it, as in \
            synctool alter music.db -- "$(cat migration.sql)"

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Argument(help: "One or more SQL statements; after -- where they begin with a comment.")
    var sql: String

    @OptionGroup var output: OutputOptions
    var database: String? { path }

    mutating func run() async throws {
        let absolute = StorePath.absolute(path)
        let unrecorded = try await ProgressLine.during("record") {
            try Store.recordBeforeSchemaChange(absolute)
        }
        let findings = try await ProgressLine.during("alter") { try alter(absolute) }
        if let unrecorded {
            try Terminal.error.line("\(path): " + UnrecordedText.line(unrecorded))
        }
        if output.isJSON {
            for finding in findings {
                try Terminal.output.json(Finding(problem: finding.explanation).json)
            }
            return
        }
        let new = findings.filter { $0.problem == .newTable }
        let partly = findings.filter { $0.problem == .partlyCompared }
        let renewed = Set(
            findings.filter { $0.problem != .newTable && $0.problem != .partlyCompared }
                .map(\.table)
        ).count
        try Terminal.output.line(
            "\(path): the statements were run"
                + (renewed > 0
                    ? "; triggers of \(Plural.text(renewed, of: "table")) recreated" : ""))
        for finding in partly {
            try Terminal.output.line("  " + Printable.text(finding.explanation))
        }
        for finding in new {
            try Terminal.output.line(
                "  \(Printable.text(finding.table)) is new and "
                    + (finding.entity == nil
                        ? "not tracked yet. Run: synctool track \(Shell.quoted(path))"
                        : "tracked from now on"))
        }
    }

    /// A running daemon sees the new schema like any other writer's change.
    private func alter(_ path: String) throws -> [CaptureFinding] {
        do {
            return try Store.alterSynchronised(path, running: sql)
        } catch var error as SyncError where error.hint == nil {
            error.hint = "Nothing was changed. Correct the statements and run the command again"
            throw error
        }
    }
}
