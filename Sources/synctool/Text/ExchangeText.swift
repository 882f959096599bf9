import SyncCore
import SyncMerge
import SyncRemotes
import SyncReplica
import Varlink

/// The result of an exchange, as a line of text or as JSON.
struct ExchangeText {
    let remote: String
    let report: ExchangeReport
    let direction: ExchangeDirection
    /// The number of open conflicts after it.
    let conflicts: Int
    let duration: Duration
    /// When all rows were last compared with what is recorded; nil: never.
    let compared: Timestamp?
    /// The path of the database, as the user typed it.
    let path: String
    /// The names of replicas.
    var names = KnownNames()
    /// Rows that a constraint keeps out of the tables.
    var hiddenRows = 0
    /// Rows that synchronising leaves out, or that lost what they refer to.
    var unsynced: UnsyncedText?
    /// Columns whose default differs from that of another replica.
    var defaults: DefaultsText?

    /// - Throws: ``OutputClosed``.
    func print(asJSON isJSON: Bool) throws {
        // What was dropped is told when it comes, and by status.
        let open = report.pulledCount > 0 ? report.waiting : report.waiting.filter { !$0.isSettled }
        let waiting = WaitingText(waiting: open, remote: remote, path: path)
        if isJSON {
            try Terminal.output.json(json)
            return try waiting.print()
        }
        try Terminal.output.line(text)
        try waiting.print()
        try SkippedText(problems: report.problems, names: names).print()
        for finding in [report.rewound, report.doubtful].compactMap({ $0 }) {
            try Terminal.error.line("  \(Printable.text(finding))")
        }
    }

    /// The keys that docs/cli.md lists.
    var json: JSONObject {
        let (seconds, attoseconds) = duration.components
        let exact = Double(seconds) + Double(attoseconds) / 1e18
        var object: JSONObject = [
            "remote": .string(remote), "pushed": .integer(Int64(report.pushedCount)),
            "pulled": .integer(Int64(report.pulledCount)),
            "conflicts": .integer(Int64(conflicts)), "bytes": .integer(Int64(report.bytes)),
            "seconds": .double((exact * 1000).rounded() / 1000),
        ]
        if !report.problems.isEmpty {
            object["passedOver"] = .array(
                report.problems.map { problem in
                    var object: JSONObject = [
                        "name": .string(problem.name), "reason": .string(problem.reason),
                    ]
                    if let remedy = problem.remedy { object["hint"] = .string(remedy) }
                    return .object(object)
                })
        }
        if let rewound = report.rewound { object["rewound"] = .string(rewound) }
        if let doubtful = report.doubtful { object["doubtful"] = .string(doubtful) }
        if !report.waiting.isEmpty {
            object["waiting"] = WaitingText(waiting: report.waiting, path: path).json
        }
        if hiddenRows > 0 { object["hiddenRows"] = .integer(Int64(hiddenRows)) }
        if let defaults, !defaults.differences.isEmpty {
            object["differentDefaults"] = defaults.json
        }
        if let unsynced, !unsynced.rows.isEmpty { object["unsynced"] = unsynced.json }
        return object
    }

    private var text: String {
        var parts: [String] = []
        if direction != .push { parts.append("pulled \(report.pulledCount)") }
        if direction != .pull { parts.append("pushed \(report.pushedCount)") }
        let count = report.pushedCount + report.pulledCount
        var text = "\(remote): "
        let skipped = report.problems.count
        text +=
            count == 0
            ? (skipped == 0
                ? "nothing to \(direction.rawValue)"
                : parts.joined(separator: ", ") + "; skipped \(Plural.text(skipped, of: "file"))")
            : parts.joined(separator: ", ") + " (\(ByteCount.text(Int64(report.bytes))))"
        if count == 0 {
            // What a program wrote with triggers switched off would be found by that alone.
            let last = compared.map { "last compared with the history " + LocalTime.ago($0) }
            text += "; the rows were \(last ?? "never compared with the history")"
        }
        if conflicts > 0 { text += "; \(Plural.text(conflicts, of: "open conflict"))" }
        return text
    }
}
