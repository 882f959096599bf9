import CNotice
import Foundation

/// How long after a foreign COMMIT returns we know of it, and what knowing costs.
///
///     NoticeBenchmark [quiet] [burst] [idle] [daemon] [stores] [million]
///
/// `quiet`: single commits with gaps of 1 to 3 ms. `burst`: flat out for 1.5 s. `idle`: processor
/// time and memory with 1, 100 and 1,000 stores. Each against the floor: the same mechanism in C
/// with nothing above it. `daemon`: a real syncd with 1 and 100 client processes, quiet and flat
/// out; SYNCD names the program. `stores`: processor time and memory of an idle syncd with 1, 100
/// and 1,000 stores. `million`: 10^6 commits (COMMITS) of four processes at once, what is missed.
@main
enum Main {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "writer" { return try runWriter(arguments) }
        if arguments.first == "client" { return try runClient(arguments) }
        if let name = arguments.first, name.hasSuffix("rows") { return runRows(name, arguments) }
        if arguments.isEmpty {
            arguments = ["quiet", "burst", "idle", "daemon", "stores", "million"]
        }
        for argument in arguments {
            switch argument {
            case "quiet": try Latency.measureQuiet()
            case "burst": try Latency.measureBurst()
            case "idle": try Idle.measure()
            case "daemon": try WholeDaemon.measure()
            case "stores": try ManyStores.measure()
            case "million":
                let commits = ProcessInfo.processInfo.environment["COMMITS"].flatMap { Int64($0) }
                guard try await FourWriters.measure(commits: commits ?? 1_000_000) else { exit(1) }
            default: print("unknown part: \(argument)")
            }
        }
    }

    private static func runWriter(_ arguments: [String]) throws {
        guard arguments.count == 6, let times = notice_map(arguments[2], 0) else { exit(64) }
        exit(
            notice_write(
                arguments[1], times, Int64(arguments[3]) ?? 0, Int64(arguments[4]) ?? 0,
                Double(arguments[5]) ?? 0))
    }

    /// A writer of ``FourWriters``.
    private static func runRows(_ name: String, _ arguments: [String]) {
        guard arguments.count == 4, let first = Int64(arguments[2]), let count = Int64(arguments[3])
        else { exit(64) }
        exit(
            name == "crows"
                ? notice_write_rows(arguments[1], first, count)
                : FourWriters.writeRows(arguments[1], first: first, count: count))
    }

    private static func runClient(_ arguments: [String]) throws {
        guard arguments.count == 5, let times = notice_map(arguments[2], 0) else { exit(64) }
        exit(notice_client(arguments[1], arguments[3], times, Int64(arguments[4]) ?? 0))
    }
}
