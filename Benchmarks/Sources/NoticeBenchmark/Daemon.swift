import Foundation

/// A real syncd with stores to track; ends with this object.
final class Daemon {
    private let process = Process()
    let socket: String

    convenience init(_ bench: Bench) throws {
        try self.init(folder: bench.folder, stores: [bench.path])
    }

    init(folder: String, stores: [String]) throws {
        socket = folder + "/s"
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = [
            "--user", "--socket", socket, "--state", folder + "/state", "--config",
            folder + "/syncd.yaml", "--log", "error",
        ]
        let entries = stores.map { "- {path: \($0), track: true}\n" }.joined()
        try "stores:\n\(entries)".write(
            toFile: folder + "/syncd.yaml", atomically: true, encoding: .utf8)
        try process.run()
        while !FileManager.default.fileExists(atPath: socket), process.isRunning {
            usleep(10_000)
        }
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    /// The program: SYNCD, or the one built beside this.
    private static var program: String {
        if let named = ProcessInfo.processInfo.environment["SYNCD"] { return named }
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: own ?? "").deletingLastPathComponent()
            .appendingPathComponent("syncd").path
    }

    /// Processor time so far, in seconds.
    var processorSeconds: Double {
        let fields = proc("stat").split(separator: " ").compactMap { Double($0) }
        // utime and stime are the fields 14 and 15; the name and the state are no numbers.
        return fields.count > 12
            ? (fields[11] + fields[12]) / Double(sysconf(Int32(_SC_CLK_TCK))) : 0
    }

    var residentKilobytes: String {
        ["VmRSS", "VmHWM"].compactMap { name in
            proc("status").split(separator: "\n").first { $0.hasPrefix(name) }.map(String.init)
        }.joined(separator: ", ")
    }

    /// A field of `smaps_rollup`, in kilobytes.
    func memory(_ field: String) -> Int {
        let line = proc("smaps_rollup").split(separator: "\n").first { $0.hasPrefix(field + ":") }
        return line.flatMap { Int($0.split(separator: " ").dropLast().last ?? "") } ?? 0
    }

    private func proc(_ name: String) -> String {
        let path = "/proc/\(process.processIdentifier)/\(name)"
        return (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
