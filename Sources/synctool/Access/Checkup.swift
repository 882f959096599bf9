import SyncClient
import SyncCore

/// What `synctool doctor` looks at. Everything that is wrong is a finding; what was fine is a line.
struct Checkup {
    /// An answer: what is wrong, and what was looked at.
    typealias Result = (findings: [Finding], checked: [String])

    let options: CommonOptions

    /// The daemon, and each of its stores in a word.
    func daemon() async throws -> Result {
        let daemon = try await Access.daemon(options)
        var result: Result = ([], ["the daemon answers at \(daemon.client.socket)"])
        for store in try await daemon.stores() {
            if store.state == .open {
                result.checked.append("\(store.path) is open")
            } else {
                result.findings.append(
                    Finding(
                        problem: "\(store.path): "
                            + (store.error?.reason ?? "the file is \(store.state.rawValue)"),
                        hint: store.error?.hint
                            ?? "Put it back, or run: synctool untrack --forget "
                            + Shell.quoted(store.path)))
            }
        }
        return result
    }

    /// Puts the capture of a database right, beside whoever has it open.
    ///
    /// - Returns: what was done, a line each.
    func mend(_ path: String) throws -> [String] {
        let store = try Store.open(StorePath.absolute(path))
        defer { try? store.close() }
        let report = try store.repairCapture(comparing: true)
        var lines = report.findings.map { "mended: \($0.explanation)" }
        if report.recoveredCount > 0 {
            lines.append(
                "recorded \(Plural.text(report.recoveredCount, "change")) that nobody had seen; "
                    + "see: synctool history \(Shell.quoted(path)) --reverse --limit 1")
        } else {
            lines.append("compared all rows: nothing was missed")
        }
        return lines
    }

    /// One database: its integrity, its capture, its consumers.
    func store(_ path: String) async throws -> Result {
        let access = try await Access.open(path, options)
        var result: Result = ([], [])
        let verification = try await access.verify()
        let tracked = verification.tables.count { $0.isTracked }
        result.checked.append("\(Plural.text(tracked, "table")) recorded")
        result.findings += verification.findings.map { Finding(problem: $0) }
        let damage = try Store.integrity(StorePath.absolute(path))
        if damage.isEmpty {
            result.checked.append("the file is sound (PRAGMA quick_check)")
        } else {
            result.findings += damage.map { problem in
                Finding(
                    problem: problem,
                    hint: "Restore a backup, or run: sqlite3 \(Shell.quoted(path)) .recover")
            }
        }
        let status = try await access.status()
        result.checked.append(
            status.isDirect
                ? "no daemon has it: nobody is told of changes"
                : "the daemon watches it")
        let now = Timestamp.now()
        for consumer in try await access.consumers() where consumer.isLapsed(at: now) {
            result.checked.append(
                "consumer \(consumer.name) has lapsed; seen "
                    + LocalTime.ago(consumer.lastSeen, now: now))
        }
        return result
    }
}
