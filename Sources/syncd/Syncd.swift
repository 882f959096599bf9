import ArgumentParser
import CSQLite
import Glibc
import Logging
import SyncClient
import SyncCore

/// `syncd`: reads flags, environment and files, and runs the ``Daemon``.
@main
struct Syncd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncd",
        abstract: "Persistent history and change notices for SQLite databases.",
        discussion: """
            Flags win over the environment (SYNCD_SOCKET, SYNCD_STATE, SYNCD_CONFIG, SYNCD_LOG), \
            which wins over the configuration files: /etc/syncd/syncd.yaml and stores.d/*.yaml for \
            the system, ~/.config/syncd for a user. SIGHUP reads them again. Exit status: 69 \
            socket taken, 77 not allowed, 78 configuration.
            """,
        version: SyncdVersion.current)

    @Flag(
        exclusivity: .exclusive,
        help: "Run for the system, or for one user (default: by who runs it).")
    var role: Role?

    @Option(help: ArgumentHelp("The configuration file.", valueName: "path"))
    var config: String?

    @Option(help: ArgumentHelp("Where to listen.", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("Where to keep state.", valueName: "directory"))
    var state: String?

    @Option(help: ArgumentHelp("The least severe messages to write.", valueName: "level"))
    var log: String?

    @Option(help: ArgumentHelp("A store to open; may be repeated.", valueName: "path"))
    var store: [String] = []

    @Flag(help: "Check the configuration and end.")
    var checkConfig = false

    enum Role: String, EnumerableFlag {
        case system, user
    }

    func run() async throws {
        do {
            let configuration = try read()
            if checkConfig { return }
            signal(SIGPIPE, SIG_IGN)
            let level = configuration.logLevel
            LoggingSystem.bootstrap { _ -> any LogHandler in
                if JournalLog.isAvailable {
                    JournalLog(logLevel: level)
                } else {
                    LineLog(logLevel: level)
                }
            }
            // Thousands of connections, most of which read a few pages.
            _ = syncd_sqlite_set_page_cache_start(0)
            let daemon = Daemon(
                configuration: configuration, readAgain: { try read() },
                log: Logger(label: "syncd"))
            try await daemon.run()
        } catch let fault as ConfigurationFault {
            throw failure("\(fault)", 78)
        } catch let failure as StartFailure {
            throw self.failure(failure.description, failure.exitStatus)
        } catch let error as SyncError {
            throw failure(error.description, ErrorTable.exitStatus(for: error.code))
        }
    }

    private func failure(_ message: String, _ status: Int32) -> ExitCode {
        StandardError.write("syncd: \(message)")
        return ExitCode(status)
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
        }
        if let state = state ?? SocketPath.variable("SYNCD_STATE") {
            configuration.stateDirectory = state
        }
        if let text = log ?? SocketPath.variable("SYNCD_LOG") {
            guard let level = Logger.Level(rawValue: text) else {
                let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw ConfigurationFault("--log \(text)", "known levels are: \(names)")
            }
            configuration.logLevel = level
        }
        for path in store {
            guard path.hasPrefix("/") else {
                throw ConfigurationFault("--store \(path)", "the path has to be absolute")
            }
            configuration.stores.append(Configuration.StoreEntry(path: path))
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
