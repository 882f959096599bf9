/// One metric for monitoring: its name, what it says, and how it adds up over stores.
package struct Metric: Sendable, Hashable {
    /// What a monitoring system does with its values.
    package enum Kind: String, Sendable {
        /// Grows until the daemon is restarted; its rate counts.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts by upper bounds.
        case histogram
    }

    /// How the values of several stores become one, where stores are not named.
    package enum Combination: Sendable { case sum, greatest, least }

    /// As in the text, with its unit and, of a counter, `_total`.
    package let name: String
    package let kind: Kind
    /// One sentence.
    package let help: String
    /// The names of its labels.
    package let labels: [String]
    let combination: Combination

    init(
        _ name: String, _ kind: Kind, labels: [String] = [], combination: Combination = .sum,
        _ help: String
    ) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
        self.combination = combination
    }
}

extension Metric {
    /// All that there are, in the order of the text. docs/monitoring.md lists them, too.
    package static let all: [Metric] = [
        up, buildInfo, startTime, reloadFailed, stores, clients, clientsDropped, clientsRefused,
        workers, memory, storeUp, storeTroubles, transactions, notices, noticeLatency,
        subscribers, subscribersLagged, pendingRows, conflicts, databaseBytes, walBytes, errors,
        lastError, purgeHeld, consumerBehind,
        consumerLastSeen, replicaBehind, replicaBehindSeconds, remoteUp, remoteBehind,
        remoteBehindSeconds, remoteLastSync, remoteFailures,
    ]

    // MARK: The daemon

    static let up = Metric(
        "syncd_up", .gauge,
        "1; 0 in a file of synctool metrics that was written while the daemon did not answer.")
    static let buildInfo = Metric(
        "syncd_build_info", .gauge, labels: ["version"], "Always 1; the version of the daemon.")
    static let startTime = Metric(
        "syncd_start_time_seconds", .gauge, "When the daemon was started, in seconds since 1970.")
    static let reloadFailed = Metric(
        "syncd_reload_failed", .gauge,
        "1 if the last reload of the configuration failed, otherwise 0.")
    static let stores = Metric(
        "syncd_stores", .gauge, labels: ["state"], "Stores by state: open, missing, failed.")
    static let clients = Metric("syncd_clients", .gauge, "Connections of clients.")
    static let clientsDropped = Metric(
        "syncd_clients_dropped_total", .counter,
        "Connections closed because the client broke a limit or the protocol.")
    static let clientsRefused = Metric(
        "syncd_clients_refused_total", .counter,
        "Connections refused because there were too many.")
    static let workers = Metric("syncd_workers", .gauge, "Worker processes that run.")
    static let memory = Metric(
        "syncd_memory_bytes", .gauge,
        "Resident memory of the daemon and its workers, without pages of files.")

    // MARK: A store

    static let storeUp = Metric(
        "syncd_store_up", .gauge, labels: ["store"], combination: .least,
        "1 if the store is open, otherwise 0.")
    static let storeTroubles = Metric(
        "syncd_store_troubles", .gauge, labels: ["store"],
        "Kinds of work on the open store that fail at present.")
    static let transactions = Metric(
        "syncd_transactions_total", .counter, labels: ["store"],
        "Transactions in the history since the store was tracked.")
    static let notices = Metric(
        "syncd_notices_total", .counter, labels: ["store"],
        "Replies about transactions that were sent to subscribers.")
    static let noticeLatency = Metric(
        "syncd_notice_latency_seconds", .histogram, labels: ["store"],
        "From the moment when a commit was noticed until its notice was sent.")
    static let subscribers = Metric(
        "syncd_subscribers", .gauge, labels: ["store"], "Subscriptions.")
    static let subscribersLagged = Metric(
        "syncd_subscribers_lagged_total", .counter, labels: ["store"],
        "How often the queue of a subscriber was full.")
    static let pendingRows = Metric(
        "syncd_pending_rows", .gauge, labels: ["store"],
        "Rows of the log that are not in the history tables yet.")
    static let conflicts = Metric(
        "syncd_conflicts", .gauge, labels: ["store"], "Open conflicts of merges.")
    static let databaseBytes = Metric(
        "syncd_database_bytes", .gauge, labels: ["store"], "Size of the database file.")
    static let walBytes = Metric(
        "syncd_wal_bytes", .gauge, labels: ["store"], "Size of the write-ahead log.")
    static let errors = Metric(
        "syncd_errors_total", .counter, labels: ["store"], "Failures of work on the store.")
    static let lastError = Metric(
        "syncd_last_error_timestamp_seconds", .gauge, labels: ["store"], combination: .greatest,
        "When work on the store last failed, in seconds since 1970; missing: never.")
    static let purgeHeld = Metric(
        "syncd_purge_held_transactions", .gauge, labels: ["store"], combination: .greatest,
        "Transactions that cannot be purged because a consumer has not acknowledged them.")

    // MARK: Who reads it, and where it is synchronised with

    static let consumerBehind = Metric(
        "syncd_consumer_behind_transactions", .gauge, labels: ["store", "consumer"],
        combination: .greatest, "Transactions that a consumer has not acknowledged.")
    static let consumerLastSeen = Metric(
        "syncd_consumer_last_seen_timestamp_seconds", .gauge, labels: ["store", "consumer"],
        combination: .least,
        "When a consumer last registered or acknowledged, in seconds since 1970.")
    static let replicaBehind = Metric(
        "syncd_replica_behind_transactions", .gauge, labels: ["store", "replica", "name"],
        combination: .greatest, "Exchanged transactions that another replica has not acknowledged.")
    static let replicaBehindSeconds = Metric(
        "syncd_replica_behind_seconds", .gauge, labels: ["store", "replica", "name"],
        combination: .greatest,
        "For how long another replica has lacked something and acknowledged nothing new.")
    static let remoteUp = Metric(
        "syncd_remote_up", .gauge, labels: ["store", "remote"], combination: .least,
        "0 if the last exchange with the remote failed, otherwise 1.")
    static let remoteBehind = Metric(
        "syncd_remote_behind_transactions", .gauge, labels: ["store", "remote"],
        combination: .greatest,
        "Transactions that were not sent, at least; missing: not known before the first exchange.")
    static let remoteBehindSeconds = Metric(
        "syncd_remote_behind_seconds", .gauge, labels: ["store", "remote"],
        combination: .greatest,
        "The age of the oldest change that was not sent; missing: as the number of them.")
    static let remoteLastSync = Metric(
        "syncd_remote_last_sync_timestamp_seconds", .gauge, labels: ["store", "remote"],
        combination: .least,
        "When an exchange last succeeded, in seconds since 1970; missing: not since the start.")
    static let remoteFailures = Metric(
        "syncd_remote_failures_total", .counter, labels: ["store", "remote"],
        "Exchanges that failed.")
}
