import SyncClient
import SyncReplica
import Varlink

/// What is wrong with the daemon's stores, for monitoring and for `doctor`.
///
/// Policy: critical is what loses notices or synchronisation now and does not mend itself: a store
/// that is not open, commits that cannot be read, triggers that cannot be repaired, a remote that
/// has failed for longer than the lag that is allowed. A warning is what a person has to look at:
/// other work on a store that fails, a remote that fails, changes that wait for longer than
/// allowed, a consumer that holds back purging, open conflicts, a configuration that could not be
/// reloaded. Replicas that are away are no problem: laptops are.
struct HealthCheck {
    /// The exit status of `status --check`, as monitoring plugins use it.
    enum Severity: Int32, Comparable {
        case fine = 0
        case warning = 1
        case critical = 2
        /// The daemon cannot be asked.
        case unknown = 3

        static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }

        var name: String {
            switch self {
            case .fine: "ok"
            case .warning: "warning"
            case .critical: "critical"
            case .unknown: "unknown"
            }
        }
    }

    /// What a problem is about.
    enum Subject: String { case daemon, store, remote, consumer, conflicts }

    struct Problem: Sendable {
        let severity: Severity
        let subject: Subject
        /// The store's path; nil: the daemon.
        let store: String?
        let text: String
        let hint: String?

        var json: JSONObject {
            [
                "severity": .string(severity.name), "subject": .string(subject.rawValue),
                "store": .text(store), "problem": .string(text), "hint": .text(hint),
            ]
        }

        /// One line: which store, what is wrong, what to do.
        var line: String {
            let place = store.map { Printable.text($0) + ": " } ?? ""
            let line =
                "\(severity.name): \(place)\(Printable.text(text))"
                + (hint.map { ". \(Printable.text($0))" } ?? "")
            // Monitoring takes what follows one for numbers, in every line.
            return line.replacing("|", with: "\u{A6}")
        }
    }

    /// How long changes may wait, for a remote or for a consumer.
    let lagMax: Duration
    var now = Timestamp.now()

    /// The default of ``lagMax``: a remote that is checked every 30 s has failed some ten times.
    static let lagDefault = Duration.seconds(15 * 60)

    /// The problems of the daemon, then those of all its stores.
    func problems(of overview: DaemonOverview) -> [Problem] {
        [problem(of: overview.reloadFailure)].compactMap(\.self) + problems(of: overview.stores)
    }

    /// A failed reload; nil: there was none.
    func problem(of reload: ReloadFailure?) -> Problem? {
        reload.map { failure in
            Problem(
                severity: .warning, subject: .daemon, store: nil,
                text: ReloadText.line(failure, now: now), hint: ReloadText.hint)
        }
    }

    /// The problems of all stores, in the order of the stores.
    func problems(of stores: [StoreOverview]) -> [Problem] { stores.flatMap(problems(of:)) }

    private func problems(of overview: StoreOverview) -> [Problem] {
        let (store, path) = (overview.store, overview.store.path)
        guard store.state == .open else { return [notOpen(store)] }
        var found = overview.troubles.map { problem(of: $0, in: path) }
        found += overview.remotes.compactMap { problem(of: $0, in: path) }
        found += (overview.contents?.consumers ?? []).compactMap { problem(of: $0, in: overview) }
        if let count = overview.contents?.conflicts, count > 0 {
            found.append(
                Problem(
                    severity: .warning, subject: .conflicts, store: path,
                    text: Plural.text(Int(count), of: "open conflict"),
                    hint: "To decide: synctool conflicts \(Shell.quoted(path))"))
        }
        return found
    }

    private func notOpen(_ store: StoreSummary) -> Problem {
        let forget =
            "Restore the file, or run: synctool untrack --forget \(Shell.quoted(store.path))"
        return Problem(
            severity: .critical, subject: .store, store: store.path,
            text: store.error?.reason ?? "the file is \(store.state.rawValue)",
            hint: store.error.map(\.hint) ?? forget)
    }

    private func problem(of trouble: StoreTrouble, in path: String) -> Problem {
        let isLosing = [.reading, .repairing].contains(trouble.work)
        return Problem(
            severity: isLosing ? .critical : .warning, subject: .store, store: path,
            text: TroubleText.line(trouble, now: now),
            hint: trouble.hint ?? "To look at it: synctool doctor \(Shell.quoted(path))")
    }

    private func problem(of remote: RemoteStatus, in path: String) -> Problem? {
        let unsent = RemoteStateText.unsent(of: remote, now: now)
        if remote.isFailing, let error = remote.error {
            let since = remote.failingSince
            let isLong = since.map { isBeyondMax($0) } ?? false
            let when = since.map { " for \(LocalTime.age(of: $0, now: now))" } ?? ""
            return Problem(
                severity: isLong ? .critical : .warning, subject: .remote, store: path,
                text: "remote \(remote.name) has failed\(when): \(error)"
                    + (unsent.map { "; \($0)" } ?? ""),
                hint: RemoteStateText.remedy(for: remote, path: path))
        }
        guard let since = remote.behindSince, isBeyondMax(since), let unsent else { return nil }
        return Problem(
            severity: .warning, subject: .remote, store: path,
            text: "remote \(remote.name): \(unsent)",
            hint: "To send them: synctool sync \(Shell.quoted(path)) \(Shell.quoted(remote.name))")
    }

    private func problem(of consumer: Consumer, in overview: StoreOverview) -> Problem? {
        let behind = overview.behind(consumer)
        guard consumer.kind != .writer, behind > 0, isBeyondMax(consumer.lastSeen) else {
            return nil
        }
        let path = Shell.quoted(overview.store.path)
        let remove = "synctool consumers remove \(path) \(Shell.quoted(consumer.name))"
        let effect =
            consumer.isLapsed(at: now)
            ? "its lease has expired, purging does not wait for it" : "purging waits for it"
        return Problem(
            severity: .warning, subject: .consumer, store: overview.store.path,
            text: "consumer \(consumer.name) is \(Plural.text(Int(behind), of: "transaction")) "
                + "behind, last seen \(LocalTime.ago(consumer.lastSeen, now: now)); \(effect)",
            hint: "Start it, or where it is gone for good: \(remove)")
    }

    private func isBeyondMax(_ time: Timestamp) -> Bool {
        let (age, isBeyond) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        return !isBeyond && age > lagMax.milliseconds
    }
}
