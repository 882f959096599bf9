import SyncClient
import SyncCore
import SyncReplica

/// How far behind a remote is, as text.
enum RemoteStateText {
    /// `14 transactions unsent for 3 minutes`; nil when everything was sent.
    static func unsent(of remote: RemoteStatus, now: Timestamp = .now()) -> String? {
        guard let since = remote.behindSince else { return nil }
        let count =
            remote.behind.flatMap { count in
                count > 0 ? Plural.text(Int(count), of: "transaction") + " unsent" : nil
            } ?? "unsent changes"
        return "\(count) for \(LocalTime.age(of: since, now: now))"
    }

    /// What to do about a remote that fails: what its error says, then how to try it.
    /// - Parameter path: of the store, as a command names it.
    static func remedy(for remote: RemoteStatus, path: String) -> String {
        remedy(
            remote.hint, ofRemote: remote.name, path: path,
            retry: "It is tried again; to try it yourself")
    }

    /// The same of an exchange that failed, where no daemon tries again.
    static func remedy(
        _ hint: String?, ofRemote name: String, path: String, retry: String = "Then run"
    ) -> String {
        let typed = TypedPath(path)
        let retry = "\(retry): synctool sync \(Shell.quoted(path)) \(Shell.quoted(name))"
        guard let hint = hint.map({ typed.naming(typed.fillingIn($0)) }) else { return retry }
        return Printable.text(hint.hasSuffix(".") ? String(hint.dropLast()) : hint) + ". " + retry
    }

    /// How the last exchange ended, as the file remembers it.
    static func text(_ exchange: LastExchange?, now: Timestamp = .now()) -> String {
        guard let exchange else { return "not synced yet, as far as the file knows" }
        var parts: [String] = []
        if let since = exchange.failingSince, let reason = exchange.reason {
            parts.append("failing since \(LocalTime.text(since)): \(Printable.text(reason))")
        }
        if let last = exchange.lastSync {
            parts.append("last synced \(LocalTime.ago(last, now: now))")
        }
        return parts.joined(separator: "; ")
    }

    /// The error or the last exchange, then what was not sent.
    static func state(of remote: RemoteStatus, now: Timestamp = .now()) -> String {
        var parts: [String] = []
        if let error = remote.error {
            let since = remote.failingSince.map { "failing since \(LocalTime.text($0)): " }
            parts.append((since ?? "") + error)
        }
        if let last = remote.lastSync {
            parts.append("last synced \(LocalTime.ago(last, now: now))")
        } else if remote.error == nil || remote.isFailing {
            parts.append("not synced since the daemon started")
            if remote.isUnknown, remote.isFailing {
                parts.append("what is unsent is not known")
            }
        }
        if let unsent = unsent(of: remote, now: now) { parts.append(unsent) }
        return parts.joined(separator: "; ")
    }
}
