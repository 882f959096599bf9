import ArgumentParser
import Foundation
import SyncClient
import SyncCore

/// `synctool metrics`
struct Metrics: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the daemon's metrics in the format of Prometheus.",
        discussion: """
            Prints the metrics of the daemon and of the stores that you may read. --output \
            replaces a file in one step, for the textfile collector of node_exporter. The daemon \
            itself serves the same over HTTP if its configuration has a metrics section: \
            docs/monitoring.md.
            """)

    @Flag(name: .customLong("openmetrics"), help: "Print OpenMetrics instead.")
    var isOpenMetrics = false

    @Flag(help: "Sums over all stores, without their paths.") var totals = false

    @Option(help: ArgumentHelp("Write to this file instead, in one step.", valueName: "file"))
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Use the daemon at this socket; fail if it does not answer.", valueName: "path"))
    var socket: String?

    mutating func run() async throws {
        let overview = try await StoreClient(socket: socket).overview()
        let text = MetricsText(
            overview, format: isOpenMetrics ? .openMetrics : .prometheus, namesStores: !totals
        ).text
        guard let output else {
            // The last line has its end already.
            return try Terminal.output.raw(String(text.dropLast()))
        }
        do {
            try text.write(toFile: output, atomically: true, encoding: .utf8)
            // Made with the permissions of a file that nobody else reads; a collector has to.
            chmod(output, 0o644)
        } catch {
            throw SyncError(
                .notAllowed, "the file cannot be written: \(error.localizedDescription)",
                path: output, hint: "Check its folder: ls -ld \(Shell.quoted(output))")
        }
    }
}
