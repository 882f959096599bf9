import ArgumentParser
import SyncClient
import SyncCore
import SyncReplica
import Varlink

/// `synctool status [DB]`
struct Status: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the status of a store, or of all stores of the daemon.")

    @Argument(
        help: ArgumentHelp(
            "The database file (default: all stores of the daemon).", valueName: "db"),
        completion: .file())
    var path: String?

    @Flag(
        help: """
            Check for monitoring: a line for each problem. Exit status 0: none, 1: warning, \
            2: critical, 3: the daemon cannot be asked.
            """)
    var check = false

    @Option(
        help: ArgumentHelp(
            "With --check: how long changes may wait for a remote or a consumer.",
            valueName: "duration"))
    var maxLag = Lease(duration: HealthCheck.lagDefault)

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    func validate() throws {
        if path == nil && access.isDirect {
            throw ValidationError("--direct needs a database file.")
        }
        if check && access.isDirect {
            throw ValidationError("--check asks the daemon: leave out --direct.")
        }
    }

    mutating func run() async throws {
        if check { return try await runCheck() }
        if let path {
            let report = try await Self.report(on: path, using: access)
            if output.isJSON { return try Terminal.output.json(report.json) }
            let typed = TypedPath(path)
            for line in StatusText.lines(report, named: path) {
                try Terminal.output.line(typed.fillingIn(line))
            }
            return
        }
        let client = try await Access.daemon(using: access).client
        let overview = try await client.overview(within: StoreClient.answerMax)
        if output.isJSON {
            for store in overview.stores { try Terminal.output.json(Self.json(of: store)) }
            return
        }
        for line in OverviewText(overview: overview, socket: client.socket).lines {
            try Terminal.output.line(line)
        }
        if overview.stores.isEmpty {
            try Terminal.output.line("the daemon has no stores; to add one: synctool track FILE")
        }
    }

    /// The keys of a store in a list, and its numbers.
    private static func json(of overview: StoreOverview) -> JSONObject {
        var object = overview.store.jsonObject
        for member in overview.jsonObject.members where member.name != "store" {
            object[member.name] = member.value
        }
        return object
    }

    private static func report(
        on path: String, using access: AccessOptions
    ) async throws -> StatusReport {
        var report = try await Access.open(path, using: access).status()
        report.readFile(StorePath.absolute(path))
        return report
    }

    // MARK: For monitoring

    private func runCheck() async throws {
        let overview: DaemonOverview
        do {
            overview = try await Access.daemon(using: access).client.overview(
                within: StoreClient.answerMax)
        } catch let error as SyncError {
            let problem = HealthCheck.Problem(
                severity: .unknown, subject: .daemon, store: nil, text: error.reason,
                hint: error.hint)
            try show([problem], severity: .unknown, summary: nil)
            throw ExitCode(HealthCheck.Severity.unknown.rawValue)
        }
        var stores = overview.stores
        var problems: [HealthCheck.Problem] = []
        if let path {
            let file = StorePath.absolute(path)
            stores = stores.filter { $0.store.path.hasBytes(of: file) }
            if stores.isEmpty {
                problems.append(
                    HealthCheck.Problem(
                        severity: .critical, subject: .store, store: file,
                        text: "the daemon does not have this store, or you may not read it",
                        hint: "To add it: synctool track \(Shell.quoted(path))"))
            }
        }
        let check = HealthCheck(lagMax: maxLag.duration)
        problems += [check.problem(of: overview.reloadFailure)].compactMap(\.self)
        problems += check.problems(of: stores)
        let severity = problems.map(\.severity).max() ?? .fine
        try show(problems, severity: severity, summary: CheckSummary(overview, stores: stores))
        if severity != .fine { throw ExitCode(severity.rawValue) }
    }

    private func show(
        _ problems: [HealthCheck.Problem], severity: HealthCheck.Severity, summary: CheckSummary?
    ) throws {
        if output.isJSON {
            var object: JSONObject = [
                "status": .string(severity.name),
                "problems": .array(problems.map { .object($0.json) }),
            ]
            for member in summary?.json.members ?? [] { object[member.name] = member.value }
            return try Terminal.output.json(object)
        }
        let count = problems.isEmpty ? "" : Plural.text(problems.count, of: "problem") + "; "
        try Terminal.output.line(
            "syncd \(severity.name.uppercased()): \(count)\(summary?.line ?? "not asked")")
        for problem in problems { try Terminal.output.line(problem.line) }
    }
}
