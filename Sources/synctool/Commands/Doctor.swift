import ArgumentParser

/// `synctool doctor [DB]`
struct Doctor: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a store or the daemon, and show how to fix problems.",
        discussion: """
            For a database it checks the integrity of the file, the triggers, the leases of \
            consumers, whether what is kept for other replicas can be read, and whether the rows \
            match the history: a program may have written with triggers switched off. It says \
            what was not checked. The exit status is 1 when there \
            is a problem. The integrity is always checked on the file itself.

            --mend repairs the triggers, then compares every row with the recorded one: changes \
            that were missed become one transaction flagged 'recovered'. Writers wait during the \
            comparison, about a second for a million rows. Tables of the store that another \
            program dropped are recreated, and what was lost is reported.

            --renew-identity makes the file a new replica of its store. Use it after a backup was \
            restored into the same file, when 'sync' reports transactions in this replica's name \
            at the remote: they are merged from there, and later local changes are kept.
            """)

    @Argument(
        help: ArgumentHelp("The database file (default: the daemon).", valueName: "db"),
        completion: .file())
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
        var result: Checkup.Result
        if let path {
            let renewed = renewIdentity ? try await checkup.renewIdentity(path) : []
            let mended = mend ? try checkup.mend(path) : Checkup.Result()
            result = try await checkup.store(path, areRowsCompared: mended.areRowsCompared)
            result.findings = mended.findings + result.findings
            result.unchecked = mended.unchecked + result.unchecked
            result.checked = renewed + mended.checked + result.checked
            if output.isJSON {
                for line in mended.checked { try Terminal.error.line("\(path): \(line)") }
            }
        } else {
            result = try await checkup.daemon()
        }
        try show(result)
        if !result.findings.isEmpty { throw ExitCode(1) }
    }

    private func show(_ result: Checkup.Result) throws {
        let name = path ?? "syncd"
        if output.isJSON {
            for finding in result.findings { try Terminal.output.json(finding.json) }
            for line in result.unchecked {
                try Terminal.error.line("\(name): not checked: \(line)")
            }
            return
        }
        for line in result.checked { try Terminal.output.line("  " + line) }
        for line in result.unchecked { try Terminal.output.line("  not checked: " + line) }
        for finding in result.findings {
            try Terminal.output.line(
                Terminal.output.styled("  problem: \(finding.problem)", as: .gone))
            if let hint = finding.hint { try Terminal.output.line("           \(hint)") }
        }
        if result.findings.isEmpty {
            let scope = result.unchecked.isEmpty ? "" : " in what was checked"
            try Terminal.output.line("\(name): no problems found\(scope)")
        }
    }
}
