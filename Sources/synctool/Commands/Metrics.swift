import ArgumentParser
import Foundation
import SyncClient
import SyncCore
import SyncStorage

/// `synctool metrics`
struct Metrics: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the daemon's metrics in the format of Prometheus.",
        discussion: """
            Prints the metrics of the daemon and of the stores that you may read. --output \
            replaces a file in one step, for the textfile collector of node_exporter; when the \
            daemon does not answer, syncd_up is 0 there, and nothing else has a value. The daemon \
            itself serves the same over HTTP if its configuration has a metrics section: \
            docs/monitoring.md.
            """)

    @Flag(name: .customLong("openmetrics"), help: "Print OpenMetrics instead.")
    var isOpenMetrics = false

    @Flag(help: "Sums over all stores, without their paths.") var totals = false

    @Option(
        help: ArgumentHelp("Write to this file instead, in one step.", valueName: "file"),
        completion: .file())
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Use the daemon at this socket; fail if it does not answer.", valueName: "path"),
        completion: .file())
    var socket: String?

    private var format: MetricsText.Format { isOpenMetrics ? .openMetrics : .prometheus }

    /// A file takes the place of what is there: of a device or a link it must not.
    ///
    /// - Throws: `invalidArgument`.
    private func requireFile(at path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        throw SyncError(
            .invalidArgument, "it is not a file that could be replaced", path: path,
            hint: "Give the path of a file, or leave --output out to print")
    }

    mutating func run() async throws {
        if let output { try requireFile(at: output) }
        let overview: DaemonOverview
        do {
            overview = try await StoreClient(socket: socket).overview(
                within: StoreClient.answerMax)
        } catch {
            // The file of before would go on saying that all is well.
            if let output { try write(MetricsText(ofNone: format), to: output) }
            throw error
        }
        let metrics = MetricsText(overview, format: format, namesStores: !totals)
        if let output { return try write(metrics, to: output) }
        // The last line has its end already.
        try Terminal.output.raw(String(metrics.text.dropLast()))
    }

    private func write(_ metrics: MetricsText, to file: String) throws {
        do {
            try ReplacedFile(path: file).write(metrics.text)
        } catch let error as ReplacedFile.Failure {
            let isFull = error.number == ENOSPC || error.number == EDQUOT
            throw SyncError(
                isFull ? .diskFull : .notAllowed, "the file cannot be written: \(error.reason)",
                path: file,
                hint: isFull
                    ? "Free some space. The file is as it was before"
                    : "Check its folder: ls -ld "
                        + Shell.quoted(PathResolution.directory(of: file)))
        }
    }
}
