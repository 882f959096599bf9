import Foundation
import SyncCore

/// Who records what the writer does.
enum Contender: String, CaseIterable {
    case plain
    case syncd
    /// With the old values of updates.
    case undo = "with undo"
    /// SQLite's session extension, inside the writer: a changeset for each transaction.
    case session
    /// The triggers of the PyPI package sqlite-history.
    case history = "s-history"
    /// The triggers of the PyPI package sqlite-chronicle.
    case chronicle = "s-chronicle"

    struct Failure: Error { var contender: String }

    private static let python: String? = {
        let named = ProcessInfo.processInfo.environment["PYTHON"]
        let candidates = [named, ".venv/bin/python"].compactMap { $0 }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// What the package is asked to do with the table `item`.
    private var script: String? {
        switch self {
        case .history:
            return "from sqlite_history import configure_history as make"
        case .chronicle:
            return "from sqlite_chronicle import enable_chronicle as make"
        default: return nil
        }
    }

    var isAvailable: Bool {
        guard let script else { return true }
        return Self.run(script, []) == 0
    }

    func install(_ path: String) throws {
        switch self {
        case .plain, .session: return
        case .syncd: try Store.track(path)
        case .undo: try Store.track(path, options: ["item": CaptureOptions(undo: true)])
        case .history, .chronicle:
            let install = "; import sqlite3, sys; make(sqlite3.connect(sys.argv[1]), 'item')"
            guard let script, Self.run(script + install, [path]) == 0 else {
                throw Failure(contender: rawValue)
            }
        }
    }

    private static func run(_ script: String, _ arguments: [String]) -> Int32 {
        guard let python else { return 69 }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["-c", script] + arguments
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return 69 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
