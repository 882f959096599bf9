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
            while it compares, about a second for a million rows. A store whose tables another \
            program dropped is made a store again, and what of it is lost is said.

            --renew-identity makes the file another replica of its store. Needed when a backup was \
            put back into the same file, and 'sync' says that others have transactions in this \
            replica's name: what the backup lost comes back from them, and what was written \
            since is kept.
            """)

    @Argument(
        help: ArgumentHelp("The database file; the daemon alone without.", valueName: "db"))
    var path: String?

    @Flag(help: "Put right what can be put right, and record what was missed.")
    var mend = false

    @Flag(help: "Make the file another replica: after it was restored from a backup.")
    var renewIdentity = false

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    func validate() throws {
        if path == nil && common.direct {
            throw ValidationError("--direct needs a database file.")
        }
        if path == nil && mend { throw ValidationError("--mend needs a database file.") }
        if path == nil && renewIdentity {
            throw ValidationError("--renew-identity needs a database file.")
        }
    }

    mutating func run() async throws {
        let checkup = Checkup(options: common)
        var findings: [Finding] = []
        var checked: [String] = []
        if let path {
            let renewed = renewIdentity ? try await checkup.renewIdentity(path) : []
            let mended: Checkup.Result = mend ? try checkup.mend(path) : ([], [])
            (findings, checked) = try await checkup.store(path)
            findings = mended.findings + findings
            checked = renewed + mended.checked + checked
            if common.json {
                for line in mended.checked { try Terminal.error.line("\(path): \(line)") }
            }
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
