import CNotice
import Foundation

/// How long after a foreign COMMIT returns we know of it, and what knowing costs.
///
///     NoticeBenchmark [quiet] [burst] [idle] [daemon]
///
/// `quiet`: single commits with gaps of 1 to 3 ms. `burst`: flat out for 1.5 s. `idle`: processor
/// time and memory with 1, 100 and 1,000 stores. Each against the floor: the same mechanism in C
/// with nothing above it. `daemon`: a real syncd with 1 and 100 client processes, quiet and flat
/// out, and idle; SYNCD names the program.
@main
enum Main {
    static func main() throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "writer" { return try runWriter(arguments) }
        if arguments.first == "client" { return try runClient(arguments) }
        if arguments.isEmpty { arguments = ["quiet", "burst", "idle", "daemon"] }
        for argument in arguments {
            switch argument {
            case "quiet": try Latency.measureQuiet()
            case "burst": try Latency.measureBurst()
            case "idle": try Idle.measure()
            case "daemon": try WholeDaemon.measure()
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

    private static func runClient(_ arguments: [String]) throws {
        guard arguments.count == 5, let times = notice_map(arguments[2], 0) else { exit(64) }
        exit(notice_client(arguments[1], arguments[3], times, Int64(arguments[4]) ?? 0))
    }
}
