import SyncClient
import SyncReplica
import SyncStorage

/// The checks of `synctool doctor`. A problem is a finding; a check that passed is a line.
struct Checkup {
    /// The problems found, and the checks that were made.
    struct Result {
        var findings: [Finding] = []
        var checked: [String] = []
        /// What was not looked at, and why.
        var unchecked: [String] = []
        /// Whether all rows were compared with what was recorded of them.
        var areRowsCompared = false
    }

    let options: AccessOptions

    /// Checks the daemon, and whether each of its stores is open.
    ///
    /// - Throws: `unreachable`.
    func daemon() async throws -> Result {
        let daemon = try await Access.daemon(using: options)
        var result = Result(checked: ["the daemon answers at \(daemon.client.socket)"])
        let overview = try await daemon.client.overview(within: StoreClient.answerMax)
        let problems = HealthCheck(lagMax: HealthCheck.lagDefault).problems(of: overview)
        for store in overview.stores where store.store.state == .open {
            result.checked.append("\(store.store.path) is open")
        }
        for problem in problems {
            let text = (problem.store.map { "\($0): " } ?? "") + problem.text
            switch problem.subject {
            case .daemon, .store, .remote:
                result.findings.append(Finding(problem: text, hint: problem.hint))
            case .consumer, .conflicts:
                result.checked.append(text + (problem.hint.map { ". \($0)" } ?? ""))
            }
        }
        return result
    }

    /// Repairs the capture of a database, also while others have it open, and compares its rows
    /// with the recorded ones.
    ///
    /// - Returns: the repairs, and as findings the tables that could not be compared.
    func mend(_ path: String) throws -> Result {
        let absolute = StorePath.absolute(path)
        do {
            // A copy of the file becomes a separate replica first.
            try Store.open(absolute).close()
        } catch let error as SyncError where error.code == .storeDamaged {
            // The remaining tables are repaired.
        }
        let report = try Store.mend(absolute, comparing: true)
        let typed = TypedPath(path)
        var result = Result(checked: report.explanations.map { "repaired: \(typed.fillingIn($0))" })
        try nameLosses(of: report, in: path, into: &result)
        var count = report.recoveredCount
        if report.isComparedWhenMerging {
            let replica = try StoreReplica(absolute)
            defer { try? replica.close() }
            count += try replica.recordMissed()
            if try replica.mendExtents() { result.findings.append(Self.mendedExtents(of: path)) }
            for table in try replica.mendSums() {
                result.findings.append(
                    Finding(
                        problem: "\(table): what merging keeps of it was changed by another "
                            + "program",
                        hint: "Its sums were computed again, and the next exchange compares them: "
                            + "synctool sync \(Shell.quoted(path))"))
            }
        }
        if !report.uncompared.isEmpty {
            // The rows are recorded now, for later comparisons.
            let store = try Store.open(absolute)
            defer { try? store.close() }
            while try store.digest() {}
        }
        for table in report.uncompared {
            result.findings.append(
                Finding(
                    problem: "\(table): its rows could not be compared, because none were recorded",
                    hint:
                        "They are recorded now. Earlier changes that were missed are in the table "
                        + "but not in the history"))
        }
        result.areRowsCompared =
            report.uncompared.isEmpty && report.unreadable.isEmpty && !report.isIncomparable
        result.unchecked += report.unreadableFindings.map { $0.explanation }
        result.unchecked += report.partlyCompared.map {
            "the values of the rows of \($0): a column was dropped since they were last compared. "
                + "They were taken as they are"
        }
        if count > 0 {
            result.checked.append(
                "recorded \(Plural.text(count, of: "change")) that had been missed; "
                    + "show them: synctool history \(Shell.quoted(path)) --reverse --limit 1")
        } else if report.isIncomparable {
            result.findings.append(
                Finding(
                    problem: "the rows could not be compared, because none were recorded",
                    hint: "Earlier changes that were missed are in the tables but not in the "
                        + "history"))
        } else if report.uncompared.isEmpty, report.unreadable.isEmpty {
            result.checked.append("all rows compared: no change was missed")
        }
        return result
    }

    /// Names the tables that another program dropped with what no other replica has.
    private func nameLosses(
        of report: RepairReport, in path: String, into result: inout Result
    ) throws {
        let dropped = report.findings.filter { $0.problem == .tableDropped }.map(\.table)
        let lost = try Store.lostWrites(StorePath.absolute(path), to: dropped)
        for (table, count) in lost.sorted(by: { $0.key < $1.key }) {
            let rows = count == 1 ? "a row that was" : "\(count) rows that were"
            result.findings.append(
                Finding(
                    problem: "\(table): the table was dropped with \(rows) written after the last "
                        + "exchange: what was written is not here any more, and was not sent",
                    hint: "The keys are in: synctool history \(Shell.quoted(path)). A backup may "
                        + "have the values"))
        }
    }

    /// Makes the file a new replica, and makes the daemon reopen it.
    ///
    /// - Returns: one line for each step.
    func renewIdentity(_ path: String) async throws -> [String] {
        let absolute = StorePath.absolute(path)
        _ = try await Access.open(path, using: options)
        let former: ReplicaID
        let present: ReplicaID
        var counters: [String] = []
        do {
            let replica = try StoreReplica(absolute)
            defer { try? replica.close() }
            former = replica.replicaID
            present = try replica.renewIdentity()
            for (entity, policy) in try replica.policies().entities {
                let columns = (policy.columns ?? [:]).filter { $0.value == .counter }
                counters += columns.keys.map { Printable.text("\(entity).\($0)") }
            }
        }
        if !options.isDirect {
            try await StoreReopening(options: options).run(
                absolute, after: "The identity was renewed")
        }
        return [
            "this file is now replica \(present); it was \(former). "
                + "Next run: synctool sync \(Shell.quoted(path))"
        ]
            + counters.sorted().map {
                "\($0) is a counter: where this file had added to it before the backup, what it "
                    + "has added since may be missing. Compare its values after the sync"
            }
    }

    /// Checks one database: its integrity, its capture, its consumers.
    ///
    /// - Parameter areRowsCompared: whether the rows have just been compared.
    /// - Throws: what opening the store throws; a damaged store is a finding.
    func store(_ path: String, areRowsCompared: Bool = false) async throws -> Result {
        let access = try await Access.open(path, using: options)
        var result = Result()
        var isWhole = true
        let typed = TypedPath(path)
        if let problem = HardLinks.problem(with: StorePath.absolute(path)) {
            result.findings.append(Finding(problem: problem.reason, hint: problem.hint))
        }
        do {
            let verification = try await access.verify()
            let tracked = verification.tables.count { $0.isTracked }
            result.checked.append("\(Plural.text(tracked, of: "table")) tracked")
            result.findings += verification.findings.map { Finding(problem: typed.fillingIn($0)) }
        } catch let error as SyncError where error.code == .storeDamaged {
            isWhole = false
            result.findings.append(
                Finding(problem: error.reason, hint: error.hint.map(typed.fillingIn)))
        }
        result.checked += try Store.unrecordedTables(StorePath.absolute(path)).map {
            "not recorded: " + $0.text
        }
        if try checkIntegrity(path, into: &result) { try checkReferences(path, into: &result) }
        if isWhole, let clash = try Store.nameClash(StorePath.absolute(path)) {
            result.findings.append(Finding(problem: clash.reason, hint: clash.hint))
        }
        for trigger in try Store.foreignTriggers(StorePath.absolute(path)) {
            let name = "\"" + trigger.name.replacing("\"", with: "\"\"") + "\""
            result.findings.append(
                Finding(
                    problem: "the trigger \(trigger.name) of another program fires on "
                        + "\(trigger.table), a table of syncd",
                    hint: "Drop it: sqlite3 \(Shell.quoted(path)) "
                        + Shell.quoted("DROP TRIGGER " + name)))
        }
        for name in TemporaryDatabases.remains(of: StorePath.absolute(path)) {
            result.findings.append(
                Finding(
                    problem: "\(name) is a temporary file of a command that was ended, and may "
                        + "hold rows of the store",
                    hint: "Where no clone or remote add --join runs now: rm "
                        + Shell.quoted(name)))
        }
        guard isWhole else { return result }
        let status = try await access.status()
        if case .notServed(let error)? = status.directReason {
            result.findings.append(
                Finding(problem: error.reason, hint: error.hint.map(typed.fillingIn)))
        } else {
            result.checked.append(Self.daemonLine(status.directReason, path: path))
        }
        let now = Timestamp.now()
        try compareRows(path, now: now, areCompared: areRowsCompared, into: &result)
        try compareReplicas(path, now: now, into: &result)
        try compareClocks(path, now: now, into: &result)
        try checkEncryption(path, into: &result)
        try checkRecord(path, into: &result)
        try checkSynchronising(status.report.remotes, of: path, into: &result)
        for consumer in try await access.consumers() where consumer.isLapsed(at: now) {
            result.checked.append(
                "the lease of consumer \(consumer.name) has expired; last seen "
                    + LocalTime.ago(consumer.lastSeen, now: now))
        }
        return result
    }

    /// What the daemon says of the remotes, or what the file remembers of them, and what merging
    /// left to decide.
    private func checkSynchronising(
        _ remotes: [RemoteStatus], of path: String, into result: inout Result
    ) throws {
        let unwritable = remotes.isEmpty ? [] : try UnwritableTable.all(StorePath.absolute(path))
        for table in unwritable {
            result.findings.append(
                Finding(
                    problem: UnwritableText.line(table),
                    hint: "Drop the index, CHECK or generated column that needs it: "
                        + "synctool alter \(Shell.quoted(path)) SQL"))
        }
        let exchanges = try Store.lastExchanges(StorePath.absolute(path))
        for remote in remotes {
            if let exchange = exchanges[remote.name], exchange.failingSince != nil,
                !remote.isFailing
            {
                result.findings.append(
                    Finding(
                        problem: "remote \(remote.name): \(RemoteStateText.text(exchange))",
                        hint: RemoteStateText.remedy(
                            exchange.hint, ofRemote: remote.name, path: path)))
            }
            guard let error = remote.error else { continue }
            let line = "remote \(remote.name): \(Printable.text(error))"
            guard remote.isFailing else {
                result.checked.append(line)
                continue
            }
            result.findings.append(
                Finding(
                    problem: line,
                    hint: RemoteStateText.remedy(for: remote, path: path)))
        }
        let conflicts = try Store.openConflictCount(StorePath.absolute(path))
        if conflicts > 0 {
            result.checked.append(
                Plural.text(Int(conflicts), of: "open conflict")
                    + "; to decide: synctool conflicts \(Shell.quoted(path))")
        }
    }

    private static func mendedExtents(of path: String) -> Finding {
        Finding(
            problem: "syncd_extent did not name everything that was written",
            hint: "It does now. Other replicas may lack changes that were sent meanwhile; after an "
                + "exchange with each of them 'synctool status \(Shell.quoted(path))' names "
                + "those that differ")
    }

    /// Damage here stops each exchange, and so does a table with another key; the file and its
    /// triggers may be whole.
    private func checkRecord(_ path: String, into result: inout Result) throws {
        do {
            guard let count = try Store.checkRecord(StorePath.absolute(path)) else { return }
            result.checked.append(
                "what is kept for other replicas can be read: "
                    + Plural.text(count, of: "transaction"))
        } catch let error as SyncError
            where [.corrupt, .badData, .refused, .cannotTrack].contains(error.code)
        {
            result.findings.append(
                Finding(
                    problem: error.reason, hint: error.hint.map(TypedPath(path).fillingIn)))
        }
    }

    private func checkEncryption(_ path: String, into result: inout Result) throws {
        for remote in try Store.remotesInTheClear(StorePath.absolute(path)) {
            let add =
                "synctool remote add \(Shell.quoted(path)) \(remote.name) "
                + Shell.quoted(remote.shownURL)
            result.findings.append(
                Finding(
                    problem: "remote \(remote.name) gets everything in the clear, and the store "
                        + "has a key or an encrypted remote",
                    hint: "Remove it: synctool remote remove \(Shell.quoted(path)) "
                        + "\(remote.name); then: \(add) --encrypt, or, where that is meant: "
                        + "\(add) --in-clear"))
        }
    }

    /// - Returns: whether the file is intact; false also where that cannot be found out.
    private func checkIntegrity(_ path: String, into result: inout Result) throws -> Bool {
        let damage: [String]
        do {
            damage = try Store.integrity(StorePath.absolute(path))
        } catch let error as SyncError where error.code == .refused {
            // An index needs what only an application has.
            result.unchecked.append("the integrity of the file: \(error.reason)")
            return false
        }
        if damage.isEmpty { result.checked.append("the file is intact (PRAGMA quick_check)") }
        result.findings += damage.map { problem in
            Finding(
                problem: problem,
                hint: "Restore a backup, or salvage the rows: "
                    + "sqlite3 \(Shell.quoted(path)) .recover")
        }
        return damage.isEmpty
    }

    private func checkReferences(_ path: String, into result: inout Result) throws {
        for finding in try Store.referenceFindings(StorePath.absolute(path)) {
            let table = Printable.text(finding.table)
            switch finding.kind {
            case .dangling(let count):
                let rows = Plural.text(count, of: "row") + (count == 1 ? " refers" : " refer")
                result.checked.append(
                    "\(table): \(rows) to rows that are not there (PRAGMA foreign_key_check)")
            case .mismatched(let key, let index):
                let command = index.map {
                    "Make the columns UNIQUE: synctool alter \(Shell.quoted(path)) "
                        + Shell.quoted($0)
                }
                result.findings.append(
                    Finding(
                        problem: "\(table): the foreign key \(Printable.text(key)) does not refer "
                            + "to a primary key or to UNIQUE columns: it cannot be checked, and "
                            + "SQLite refuses writes where foreign keys are switched on",
                        hint: command
                            ?? "Rebuild the table with a foreign key to columns that are UNIQUE: "
                            + "synctool alter \(Shell.quoted(path)) SQL"))
            }
        }
    }

    /// Writes with triggers switched off leave no mark in the schema: they are found by comparing
    /// all rows, and only then.
    private func compareRows(
        _ path: String, now: Timestamp, areCompared: Bool, into result: inout Result
    ) throws {
        let absolute = StorePath.absolute(path)
        let unknown = try Store.tablesWithoutFingerprints(absolute)
        if !unknown.isEmpty { result.unchecked.append(Self.fingerprintLine(unknown)) }
        guard let missed = try Store.missedChanges(absolute) else {
            if areCompared { return }
            let last = try Store.lastComparison(absolute)
            result.unchecked.append(
                "the rows, with what was recorded of them (last time: "
                    + "\(last.map { LocalTime.ago($0, now: now) } ?? "never")); to do it now, add "
                    + "--mend")
            return
        }
        let count = missed.count
        if count > 0 {
            result.findings.append(
                Finding(
                    problem: "\(Plural.text(count, of: "change")) of rows "
                        + "\(count == 1 ? "is" : "are") not in the history: a program wrote with "
                        + "triggers switched off, or to the file itself",
                    hint: "Record \(count == 1 ? "it" : "them"): "
                        + "synctool doctor \(Shell.quoted(path)) --mend"))
        } else {
            result.checked.append("the rows are those that the history led to")
        }
        if missed.partlyComparedCount > 0 {
            result.unchecked.append(
                "the values of \(Plural.text(missed.partlyComparedCount, of: "row")): a column was "
                    + "dropped since they were last compared; to take them as they are, add --mend")
        }
        if missed.recentCount > 0 {
            result.unchecked.append(
                "the values of \(Plural.text(missed.recentCount, of: "row")) that "
                    + "\(missed.recentCount == 1 ? "was" : "were") written since the store was "
                    + "digested, seconds ago beside a daemon; to digest it now, add --mend")
        }
    }

    /// What the last comparisons with other replicas found.
    private func compareReplicas(_ path: String, now: Timestamp, into result: inout Result) throws {
        let names = try Store.replicaNames(StorePath.absolute(path))
        let hidden = try Store.hiddenRowCount(StorePath.absolute(path))
        if hidden > 0 {
            result.checked.append(TypedPath(path).fillingIn(HiddenText.line(hidden)))
        }
        let defaults = try StoreReplica.differentDefaults(StorePath.absolute(path))
        for line in DefaultsText(differences: defaults, names: names, path: path).lines {
            result.findings.append(
                Finding(
                    problem: line.trimmingCharacters(in: .whitespaces),
                    hint: "Or rebuild the table with one DEFAULT everywhere: "
                        + "synctool schema \(Shell.quoted(path))"))
        }
        for policy in try StoreReplica.idlePolicies(StorePath.absolute(path)) {
            result.findings.append(
                Finding(
                    problem: IdlePolicyText.line(policy),
                    hint: "Drop that constraint; or choose another policy: synctool policy "
                        + "\(Shell.quoted(path)) \(Shell.quoted(policy.entity)) --property "
                        + Shell.quoted("\(policy.column)=lastWriter")))
        }
        if let remade = try Store.remade(StorePath.absolute(path)) {
            result.findings.append(
                Finding(
                    problem: remade.reason, hint: TypedPath(path).fillingIn(RemadeStore.hint)))
        }
        if let exclusion = try StoreReplica.exclusion(StorePath.absolute(path)) {
            result.findings.append(
                Finding(problem: names.naming(exclusion.reason), hint: exclusion.hint))
        }
        for problem in try Store.remoteFindings(StorePath.absolute(path)) {
            result.findings.append(
                Finding(
                    problem: Printable.text(problem),
                    hint: "To see what to do, and whether it still is so: synctool sync "
                        + Shell.quoted(path)))
        }
        for comparison in try Store.comparisons(StorePath.absolute(path)) {
            let time = LocalTime.ago(comparison.time, now: now)
            let title = Printable.text(names.naming(comparison.replica.description))
            if let left = ComparisonText.unchecked(
                comparison, replica: title, time: time, path: path)
            {
                result.unchecked.append(left)
            }
            if let problem = comparison.problem.map({ Printable.text(names.naming($0)) }) {
                let hint = TypedPath(path).fillingIn(StateDifference.hint)
                result.findings.append(Finding(problem: "\(problem) (\(time))", hint: hint))
            } else if comparison.isEqual {
                result.checked.append("replica \(title) was equal \(time)")
            }
        }
    }

    /// Replicas that wrote in the future.
    private func compareClocks(_ path: String, now: Timestamp, into result: inout Result) throws {
        for lead in try Store.clocksAhead(StorePath.absolute(path), at: now) {
            let name = lead.isOwn ? "this replica" : "replica \(lead.replica)"
            result.findings.append(
                Finding(
                    problem: "the newest change of \(name) is dated "
                        + "\(LocalTime.length(lead.ahead)) ahead of the clock of this machine",
                    hint: "Correct the clock that is wrong: timedatectl. Until that date its "
                        + "changes win over concurrent ones"
                ))
        }
    }

    /// Not a problem: the daemon takes them as soon as the store is quiet.
    private static func fingerprintLine(_ tables: [String]) -> String {
        let named = tables.prefix(5).map(Printable.text).joined(separator: ", ")
        let more = tables.count > 5 ? " and \(tables.count - 5) more" : ""
        return "the rows of \(named)\(more), which have no fingerprints yet; to take them now, add "
            + "--mend"
    }

    private static func daemonLine(_ reason: FileAccess.Reason?, path: String) -> String {
        switch reason {
        case nil: return "the daemon watches it"
        case .notServed(let error): return error.reason
        case .requested: return "the daemon was not asked (--direct)"
        case .noDaemon: return "no daemon is running: subscribers are not notified"
        case .daemonNotPermitted:
            return "permission to connect to the daemon is denied: it was not asked"
        case .unknownToDaemon:
            return "the daemon does not have this store: subscribers are not notified. "
                + "To add it: synctool track \(Shell.quoted(path))"
        }
    }
}
