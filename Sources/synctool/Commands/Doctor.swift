import ArgumentParser

/// `synctool doctor [DB]`
struct Doctor: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a store, or the daemon, and say what to do.",
        discussion: """
            For a database: its integrity, whether its triggers are those that capture installed, \
            who holds its history back. Exit status 1 when something is wrong.

            --mend puts the triggers right, takes the tables as they are now, and compares every \
            row with what is known of it: \
            what was written unseen becomes one transaction flagged 'recovered'. Writers wait \
            while it compares, about a second for a million rows.
            """)

    @Argument(
        help: ArgumentHelp("The database file; the daemon alone without.", valueName: "db"))
    var path: String?

    @Flag(help: "Put right what can be put right, and record what was missed.")
    var mend = false

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    func validate() throws {
        if path == nil && common.direct {
            throw ValidationError("--direct needs a database file.")
        }
        if path == nil && mend { throw ValidationError("--mend needs a database file.") }
    }

    mutating func run() async throws {
        let checkup = Checkup(options: common)
        var findings: [Finding] = []
        var checked: [String] = []
        if let path {
            let mended: Checkup.Result = mend ? try checkup.mend(path) : ([], [])
            (findings, checked) = try await checkup.store(path)
            findings = mended.findings + findings
            checked = mended.checked + checked
        } else {
            (findings, checked) = try await checkup.daemon()
        }
        for finding in findings where common.json { try Terminal.output.json(finding.json) }
        if !common.json {
            for line in checked { try Terminal.output.line("  " + line) }
            for finding in findings {
                try Terminal.output.line(
                    Terminal.output.styled("  wrong: \(finding.problem)", .gone))
                if let hint = finding.hint { try Terminal.output.line("         \(hint)") }
            }
            if findings.isEmpty { try Terminal.output.line("\(path ?? "syncd"): all is well") }
        }
        if !findings.isEmpty { throw ExitCode(1) }
    }
}
