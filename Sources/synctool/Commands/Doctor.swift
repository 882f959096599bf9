import ArgumentParser

/// `synctool doctor [DB]`
struct Doctor: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a store or the daemon, and show how to fix problems.",
        discussion: """
            For a database it checks the integrity of the file, the triggers, and the leases of \
            consumers. The exit status is 1 when there is a problem. The integrity is always \
            checked on the file itself.

            --mend repairs the triggers, then compares every row with the recorded one: changes \
            that were missed become one transaction flagged 'recovered'. Writers wait during the \
            comparison, about a second for a million rows. Tables of the store that another \
            program dropped are recreated, and what was lost is reported.

            --renew-identity makes the file a new replica of its store. Use it after a backup was \
            restored into the same file, when 'sync' reports transactions in this replica's name \
            at the remote: they are merged from there, and later local changes are kept.
            """)

    @Argument(
        help: ArgumentHelp("The database file (default: the daemon).", valueName: "db"))
    var path: String?

    @Flag(help: "Repair the triggers and record missed changes.")
    var mend = false

    @Flag(help: "Make the file a new replica, after a backup was restored.")
    var renewIdentity = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    func validate() throws {
        if path == nil && access.isDirect {
            throw ValidationError("--direct needs a database file.")
        }
        if path == nil && mend { throw ValidationError("--mend needs a database file.") }
        if path == nil && renewIdentity {
            throw ValidationError("--renew-identity needs a database file.")
        }
    }

    mutating func run() async throws {
        let checkup = Checkup(options: access)
        var findings: [Finding] = []
        var checked: [String] = []
        if let path {
            let renewed = renewIdentity ? try await checkup.renewIdentity(path) : []
            let mended: Checkup.Result = mend ? try checkup.mend(path) : ([], [])
            (findings, checked) = try await checkup.store(path)
            findings = mended.findings + findings
            checked = renewed + mended.checked + checked
            if output.isJSON {
                for line in mended.checked { try Terminal.error.line("\(path): \(line)") }
            }
        } else {
            (findings, checked) = try await checkup.daemon()
        }
        for finding in findings where output.isJSON { try Terminal.output.json(finding.json) }
        if !output.isJSON {
            for line in checked { try Terminal.output.line("  " + line) }
            for finding in findings {
                try Terminal.output.line(
                    Terminal.output.styled("  problem: \(finding.problem)", as: .gone))
                if let hint = finding.hint { try Terminal.output.line("           \(hint)") }
            }
            if findings.isEmpty {
                try Terminal.output.line("\(path ?? "syncd"): no problems found")
            }
        }
        if !findings.isEmpty { throw ExitCode(1) }
    }
}
