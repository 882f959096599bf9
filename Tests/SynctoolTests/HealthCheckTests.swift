import SyncClient
import SyncReplica
import Testing

@testable import synctool

/// What `status --check` and `doctor` take for a problem.
@Suite struct HealthCheckTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func ago(_ minutes: Int64) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds - minutes * 60_000)
    }

    private func store(
        _ state: StoreSummary.State = .open, number: Int64 = 10, error: SyncError? = nil
    ) throws -> StoreOverview {
        let head = try Token("1.98cae9c923b24d1b1048cb1dfbb607e1.1.\(number).0")
        return StoreOverview(
            store: StoreSummary(
                path: "/srv/my music.db", state: state, id: nil, replica: nil,
                head: state == .open ? head : nil, subscribers: 0, error: error),
            databaseBytes: 1, walBytes: 0)
    }

    private func remote(
        lastSync: Timestamp?, behindSince: Timestamp?, error: String? = nil
    ) -> RemoteStatus {
        RemoteStatus(
            name: "origin", url: "dir:/srv/x", state: .idle, lastSync: lastSync,
            behindSince: behindSince, error: error)
    }

    private func problems(_ store: StoreOverview) -> [HealthCheck.Problem] {
        HealthCheck(lagMax: .seconds(900), now: now).problems(of: [store])
    }

    @Test func aStoreInOrderHasNone() throws {
        var store = try store()
        store.remotes = [remote(lastSync: ago(1), behindSince: ago(1))]
        #expect(problems(store).isEmpty)
    }

    @Test func aStoreThatIsNotOpenIsCritical() throws {
        let missing = try #require(try problems(store(.missing)).first)
        #expect(missing.severity == .critical)
        #expect(
            missing.line == """
                critical: /srv/my music.db: the file is missing. Restore the file, or run: synctool \
                untrack --forget '/srv/my music.db'
                """)
        let error = SyncError(.corrupt, "the file is damaged", hint: "Restore a backup")
        let failed = try #require(try problems(store(.failed, error: error)).first)
        #expect(failed.severity == .critical && failed.hint == "Restore a backup")
    }

    @Test func aRemoteThatFailsIsAWarningAndLaterCritical() throws {
        var store = try store()
        for (minutes, severity) in [(5, HealthCheck.Severity.warning), (20, .critical)] {
            var remote = remote(lastSync: nil, behindSince: ago(3), error: "no route to host")
            remote.failingSince = ago(Int64(minutes))
            remote.behind = 14
            store.remotes = [remote]
            let problem = try #require(problems(store).first)
            #expect(problem.severity == severity && problem.subject == .remote)
            #expect(
                problem.text
                    == "remote origin has failed for \(minutes) minutes: no route to host; "
                    + "14 transactions unsent for 3 minutes")
            #expect(problem.hint?.contains("synctool sync '/srv/my music.db' origin") == true)
        }
    }

    @Test func whatTheErrorAdvisesComesFirst() throws {
        var store = try store()
        var remote = remote(lastSync: nil, behindSince: nil, error: "the folder does not exist")
        remote.failingSince = ago(5)
        remote.hint = "Mount it, then try again"
        store.remotes = [remote]
        #expect(
            try #require(problems(store).first).hint == """
                Mount it, then try again. It is tried again; to try it yourself: synctool sync \
                '/srv/my music.db' origin
                """)
    }

    @Test func workThatFailsIsNamedWithWhatToDo() throws {
        var store = try store()
        for work in StoreTrouble.Work.allCases {
            store.troubles = [StoreTrouble(work, reason: "no luck", hint: nil, since: ago(5))]
            let problem = try #require(problems(store).first)
            let isLosing = [.reading, .repairing].contains(work)
            #expect(problem.severity == (isLosing ? .critical : .warning), "\(work)")
            #expect(problem.text.hasSuffix("no luck (for 5 minutes)"), "\(problem.text)")
            #expect(problem.hint?.contains("synctool doctor '/srv/my music.db'") == true)
        }
        store.troubles = [
            StoreTrouble(.digesting, reason: "disk full", hint: "Free some space", since: ago(5))
        ]
        #expect(problems(store).map(\.hint) == ["Free some space"])
    }

    @Test func aReloadThatFailedIsAWarning() throws {
        let process = DaemonOverview.Process(
            version: "1", started: now, clients: 0, dropped: 0, refused: 0, workers: 0,
            memoryBytes: 1)
        var overview = DaemonOverview(process: process, stores: [try store()])
        let check = HealthCheck(lagMax: .seconds(900), now: now)
        #expect(check.problems(of: overview).isEmpty)
        let failure = ReloadFailure(reason: "/etc/syncd/syncd.yaml:6: unknown key", time: ago(5))
        overview.reloadFailure = failure
        let problem = try #require(check.problems(of: overview).first)
        #expect(problem.severity == .warning && problem.store == nil)
        #expect(problem.line.contains("/etc/syncd/syncd.yaml:6: unknown key"), "\(problem.line)")
        overview.reloadFailure = failure.withoutReason
        let told = try #require(check.problems(of: overview).first)
        #expect(told.line.contains("root and the daemon's user see why"), "\(told.line)")
    }

    /// `0` says that all was sent.
    @Test func whatIsNotKnownIsNotZero() throws {
        var store = try store()
        let process = DaemonOverview.Process(
            version: "1", started: now, clients: 0, dropped: 0, refused: 0, workers: 0,
            memoryBytes: 1)
        func line(_ remotes: RemoteStatus...) -> String {
            store.remotes = remotes
            let overview = DaemonOverview(process: process, stores: [store])
            return CheckSummary(overview, stores: [store], now: now).line
        }
        var away = remote(lastSync: nil, behindSince: nil, error: "no route")
        away.failingSince = ago(1)
        var sent = remote(lastSync: ago(1), behindSince: nil)
        sent.behind = 0
        #expect(line(sent).hasSuffix("unsent=0 lagSeconds=0"))
        #expect(line(sent, away).hasSuffix("unsent=U lagSeconds=U"))
        #expect(line(remote(lastSync: nil, behindSince: nil)).hasSuffix("unsent=U lagSeconds=U"))
        let unused = remote(lastSync: nil, behindSince: nil, error: "not used by the daemon")
        #expect(line(unused).hasSuffix("unsent=0 lagSeconds=0"))
        var late = remote(lastSync: nil, behindSince: ago(2), error: "no route")
        (late.failingSince, late.behind) = (ago(1), 3)
        #expect(line(late, away).hasSuffix("unsent=3 lagSeconds=120"))
        #expect(RemoteStateText.state(of: away, now: now).hasSuffix("what is unsent is not known"))
    }

    @Test func unusedRemotesAreNoProblem() throws {
        var store = try store()
        store.remotes = [remote(lastSync: nil, behindSince: nil, error: "not used by the daemon")]
        #expect(problems(store).isEmpty)
    }

    @Test func changesThatWaitTooLongAreAWarning() throws {
        var store = try store()
        store.remotes = [remote(lastSync: ago(60), behindSince: ago(20))]
        #expect(problems(store).map(\.severity) == [.warning])
    }

    @Test func consumersThatWereNotSeenAndConflictsAreWarnings() throws {
        var store = try store()
        func consumer(_ name: String, _ number: Int64, _ seen: Timestamp) -> Consumer {
            Consumer(
                name: name, kind: .reader, acknowledged: number, lease: nil, lastSeen: seen,
                created: seen)
        }
        store.contents = .init(
            pendingRows: 0, conflicts: 2,
            consumers: [
                consumer("all read", 10, ago(600)), consumer("at work", 3, ago(2)),
                consumer("gone", 4, ago(600)),
            ], replicas: [])
        let found = problems(store)
        #expect(found.map(\.subject) == [.consumer, .conflicts])
        #expect(found[0].text.contains("consumer gone is 6 transactions behind"))
        #expect(found[1].text == "2 open conflicts")
        #expect(store.holdingBack(at: now)?.name == "at work")
    }
}
