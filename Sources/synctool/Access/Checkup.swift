import SyncClient
import SyncReplica

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

    /// Puts the capture of a database right, beside whoever has it open, and compares its rows with
    /// what is known of them.
    ///
    /// - Returns: what was done, and what could not be compared.
    func mend(_ path: String) throws -> Result {
        let absolute = StorePath.absolute(path)
        do {
            // A copy becomes a replica of its own first.
            try Store.open(absolute).close()
        } catch let error as SyncError where error.code == .storeDamaged {
            // What is left of it is repaired.
        }
        let report = try Store.mend(absolute, comparing: true)
        let typed = TypedPath(path)
        var result: Result = (
            [], report.explanations.map { "mended: \(typed.fillingIn($0))" }
        )
        var count = report.recoveredCount
        if report.isComparedWhenMerging {
            let replica = try StoreReplica(absolute)
            defer { try? replica.close() }
            count += try replica.recordMissed()
        }
        if !report.uncompared.isEmpty {
            // From now on there is something to compare with.
            let store = try Store.open(absolute)
            defer { try? store.close() }
            while try store.digest() {}
        }
        for table in report.uncompared {
            result.findings.append(
                Finding(
                    problem: "\(table): nothing was known of its rows to compare them with",
                    hint:
                        "They are remembered from now on. What was written unseen until now is in "
                        + "the table, and not in history"))
        }
        if count > 0 {
            result.checked.append(
                "recorded \(Plural.text(count, "change")) that nobody had seen; "
                    + "see: synctool history \(Shell.quoted(path)) --reverse --limit 1")
        } else if report.isIncomparable {
            result.findings.append(
                Finding(
                    problem: "rows were not compared: nothing is known of them from before",
                    hint: "What was written unseen until now is in the tables, and not in history"))
        } else if report.uncompared.isEmpty {
            result.checked.append("compared all rows: nothing was missed")
        }
        return result
    }

    /// Makes a file another replica, and has a daemon that has it open open it again.
    ///
    /// - Returns: what was done, a line each.
    func renewIdentity(_ path: String) async throws -> [String] {
        let absolute = StorePath.absolute(path)
        let former: ReplicaID
        let present: ReplicaID
        do {
            let replica = try StoreReplica(absolute)
            defer { try? replica.close() }
            former = replica.replicaID
            present = try replica.renewIdentity()
        }
        if !options.direct { try await reopen(absolute) }
        return [
            "this file is replica \(present) now; it was \(former). "
                + "Next: synctool sync \(Shell.quoted(path))"
        ]
    }

    /// Tracking again what is tracked changes nothing, and closes and opens the file.
    private func reopen(_ path: String) async throws {
        let client = StoreClient(socket: options.socket)
        do {
            guard try await client.list().contains(where: { $0.path == path }) else { return }
            let entities = try await client.status(path).entities.map(\.name)
            guard !entities.isEmpty else { return }
            _ = try await client.track(path, entities: entities)
        } catch let error as SyncError where error.code == .unreachable && options.socket == nil {
            // No daemon has it.
        } catch var error as SyncError {
            error.hint = "The identity is renewed, but the daemon still has the old one: restart it"
            throw error
        }
    }

    /// One database: its integrity, its capture, its consumers.
    func store(_ path: String) async throws -> Result {
        let access = try await Access.open(path, options)
        var result: Result = ([], [])
        var isWhole = true
        let typed = TypedPath(path)
        do {
            let verification = try await access.verify()
            let tracked = verification.tables.count { $0.isTracked }
            result.checked.append("\(Plural.text(tracked, "table")) recorded")
            result.findings += verification.findings.map { Finding(problem: typed.fillingIn($0)) }
        } catch let error as SyncError where error.code == .storeDamaged {
            isWhole = false
            result.findings.append(
                Finding(problem: error.reason, hint: error.hint.map(typed.fillingIn)))
        }
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
        guard isWhole else { return result }
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
