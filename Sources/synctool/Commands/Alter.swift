import ArgumentParser
import SyncCore
import Varlink

/// `synctool alter DB SQL`
struct Alter: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change the schema of a tracked database safely.",
        discussion: """
            Runs the statements and renews the triggers in one transaction. SQLite alone refuses \
            to drop a column that triggers name, and a table rebuilt by hand loses its triggers.

            Example: synctool alter music.db "ALTER TABLE Album DROP COLUMN Year"
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Argument(help: "One or more statements.")
    var sql: String

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    mutating func run() async throws {
        // Always on the file: a running daemon sees that the schema is another one.
        let findings = try Store.alter(StorePath.absolute(path), sql)
        if common.json {
            for finding in findings {
                try Terminal.output.json(Finding(problem: finding.explanation).json)
            }
            return
        }
        let new = findings.filter { $0.problem == .newTable }
        let renewed = Set(findings.filter { $0.problem != .newTable }.map(\.table)).count
        try Terminal.output.line(
            "\(path): done"
                + (renewed > 0 ? "; triggers of \(Plural.text(renewed, "table")) renewed" : ""))
        for finding in new {
            try Terminal.output.line(
                "  \(Printable.text(finding.table)) is new and not recorded yet."
                    + " Run: synctool track \(Shell.quoted(path))")
        }
    }
}
