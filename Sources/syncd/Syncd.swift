import ArgumentParser
import CLinux
import CSQLite
import Glibc
import Logging
import SyncClient
import SyncCore
import SyncStorage

/// `syncd`: reads flags, environment and files, and runs the ``Daemon``.
struct Syncd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncd",
        abstract: "Persistent history, change notices and sync for SQLite databases.",
        discussion: """
            Flags override the environment (SYNCD_SOCKET, SYNCD_STATE, SYNCD_CONFIG, SYNCD_LOG), \
            which overrides the configuration files: /etc/syncd/syncd.yaml and stores.d/*.yaml for \
            the system, ~/.config/syncd for a user. SIGHUP rereads them. Exit status: 1 \
            --check-config found stores that cannot be served, 69 socket in use, 77 permission \
            denied, 78 configuration error.
            """,
        version: SyncdVersion.current, subcommands: [WorkerCommand.self])

    @Flag(
        exclusivity: .exclusive,
        help: "Run for the system or for one user (default: system for root, else user).")
    var role: Role?

    @Option(
        help: ArgumentHelp("The configuration file, instead of the default one.", valueName: "path")
    )
    var config: String?

    @Option(help: ArgumentHelp("The socket to listen on.", valueName: "path"), completion: .file())
    var socket: String?

    @Option(help: ArgumentHelp("The directory for the daemon's state.", valueName: "directory"))
    var state: String?

    @Option(
        help: ArgumentHelp(
            "The lowest level to log: trace, debug, info, notice, warning, error or critical.",
            valueName: "level"))
    var log: String?

    @Option(
        help: ArgumentHelp("A store to open; may be repeated.", valueName: "path"),
        completion: .file())
    var store: [String] = []

    @Flag(help: "Check the configuration and the stores that it names, and exit.")
    var checkConfig = false

    enum Role: String, EnumerableFlag {
        case system, user
    }

    func run() async throws {
        DaemonSignals.prepare()
        do {
            let configuration = try read()
            if checkConfig {
                try RememberedStores.requireTrust(in: configuration.stateDirectory)
                try StartCheck.requirePlaces(of: configuration)
                return try report(ConfigurationCheck(configuration), of: configuration)
            }
            let level = configuration.logLevel
            LoggingSystem.bootstrap { _ -> any LogHandler in
                if JournalLog.isAvailable {
                    JournalLog(logLevel: level)
                } else {
                    LineLog(logLevel: level)
                }
            }
            Self.prepareProcess()
            let daemon = Daemon(
                configuration: configuration, reread: { try read() },
                log: Logger(label: "syncd"))
            try await daemon.run()
        } catch let fault as ConfigurationFault {
            throw failure("\(fault)", exitStatus: 78)
        } catch let failure as StartFailure {
            throw self.failure(failure.description, exitStatus: failure.exitStatus)
        } catch let error as SyncError {
            throw failure(
                error.description, exitStatus: ErrorTable.exitStatus(for: error.code))
        }
    }

    /// What a process does first that opens databases of others.
    static func prepareProcess() {
        _ = syncd_note_crashes()
        signal(SIGPIPE, SIG_IGN)
        CoreDumps.disable()
        syncd_limit_heap()
        // Thousands of connections, most of which read a few pages.
        _ = syncd_sqlite_set_page_cache_start(0)
        DatabaseOpener.countNoMemory()
        DatabaseOpener.refuseSpecialFiles()
        DatabaseOpener.leaveSuperJournals()
        DatabaseOpener.surviveTruncation()
        DatabaseOpener.limitForeignStatements(to: foreignStatementMax)
    }

    /// How long a statement on a database of another user may run without a row. Shorter, and a
    /// query over a very large table is ended; longer, and a database that was made for it keeps
    /// one of the daemon's few threads for longer.
    private static let foreignStatementMax = Duration.seconds(20)

    /// - Throws: `ExitCode` 1 when a store cannot be served, or not as it was meant.
    private func report(
        _ check: ConfigurationCheck, of configuration: Configuration
    ) throws {
        for finding in check.findings { StandardError.write("syncd: \(finding)") }
        let count = configuration.stores.count
        let stores = count == 1 ? "1 store" : "\(count) stores"
        guard check.findings.isEmpty else {
            StandardError.write(
                "syncd: the daemon would start; looked at \(stores) as uid \(geteuid())")
            throw ExitCode(1)
        }
        print("syncd: no problems found; looked at \(stores) as uid \(geteuid())")
    }

    private func failure(_ message: String, exitStatus: Int32) -> ExitCode {
        StandardError.write("syncd: \(message)")
        return ExitCode(exitStatus)
    }

    /// Defaults, overridden by files, by the environment, by flags.
    private func read() throws -> Configuration {
        let isSystem = role.map { $0 == .system } ?? (getuid() == 0)
        let paths = ConfigurationPaths(isSystem: isSystem)
        var configuration = Configuration(paths)
        let named = config ?? SocketPath.variable("SYNCD_CONFIG")
        try ConfigurationReader.read(
            into: &configuration, file: named ?? paths.file, isRequired: named != nil,
            storesDirectory: storesDirectory(beside: named) ?? paths.storesDirectory)
        if let socket = socket ?? SocketPath.variable("SYNCD_SOCKET") {
            configuration.socket = socket
            configuration.sources["socket"] = self.socket == nil ? "SYNCD_SOCKET" : "--socket"
        }
        if let state = state ?? SocketPath.variable("SYNCD_STATE") {
            configuration.stateDirectory = state
            configuration.sources["state"] = self.state == nil ? "SYNCD_STATE" : "--state"
        }
        if let text = log ?? SocketPath.variable("SYNCD_LOG") {
            let source = log == nil ? "SYNCD_LOG" : "--log"
            guard let level = Logger.Level(rawValue: text) else {
                let names = Logger.Level.allCases.map(\.rawValue)
                let near = Spelling.nearest(to: text, among: names)
                throw ConfigurationFault(
                    in: "\(source) \(text)",
                    "unknown log level; " + (near.map { "did you mean '\($0)'? " } ?? "")
                        + "known levels: "
                        + names.joined(separator: ", "))
            }
            configuration.logLevel = level
            configuration.sources["log"] = source
        }
        for path in store {
            guard path.hasPrefix("/") else {
                throw ConfigurationFault(in: "--store \(path)", "the path has to be absolute")
            }
            configuration.stores.append(
                Configuration.StoreEntry(path: path, place: "--store"))
        }
        return configuration
    }

    /// Of a named file: `stores.d` beside it.
    private func storesDirectory(beside file: String?) -> String? {
        guard let file else { return nil }
        guard let slash = file.lastIndex(of: "/") else { return "stores.d" }
        return file[...slash] + "stores.d"
    }
}
