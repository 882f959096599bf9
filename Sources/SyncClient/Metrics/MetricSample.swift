import SyncCore

/// The value of a metric for one set of labels.
struct MetricSample {
    enum Value {
        case integer(Int64)
        case seconds(milliseconds: Int64)
        case histogram(LatencyHistogram)
    }

    let metric: Metric
    /// In the order of the metric's labels.
    let labels: [String]
    var value: Value

    init(_ metric: Metric, _ labels: [String] = [], _ value: Value) {
        self.metric = metric
        self.labels = labels
        self.value = value
    }
}

/// The samples of an overview.
struct MetricSamples {
    /// Beyond this number a store's consumers, replicas and remotes have no values of their own:
    /// who may read a database may register any number of consumers.
    static let perStoreMax = 50

    private(set) var samples: [MetricSample] = []

    /// - Parameter now: what ages are counted to.
    init(_ overview: DaemonOverview, now: Timestamp) {
        add(overview.process)
        samples.append(
            MetricSample(.reloadFailed, [], .integer(overview.reloadFailure == nil ? 0 : 1)))
        for state in [StoreSummary.State.open, .missing, .failed] {
            let count = overview.stores.count { $0.store.state == state }
            samples.append(MetricSample(.stores, [state.rawValue], .integer(Int64(count))))
        }
        for store in overview.stores { add(store, now: now) }
    }

    /// The same without the names of stores, consumers, replicas and remotes: one value for each
    /// metric, the sum, the greatest or the least one.
    func totals() -> [MetricSample] {
        var totals: [Metric: MetricSample] = [:]
        var kept: [MetricSample] = []
        for sample in samples {
            guard sample.metric.labels.first == "store" else {
                kept.append(sample)
                continue
            }
            var total = MetricSample(sample.metric, [], sample.value)
            if let known = totals[sample.metric] {
                total.value = known.value.combined(with: sample.value, sample.metric.combination)
            }
            totals[sample.metric] = total
        }
        return kept + totals.values
    }

    private mutating func add(_ process: DaemonOverview.Process) {
        samples += [
            MetricSample(.up, [], .integer(1)),
            MetricSample(.buildInfo, [process.version], .integer(1)),
            MetricSample(.startTime, [], .seconds(milliseconds: process.started.milliseconds)),
            MetricSample(.clients, [], .integer(process.clients)),
            MetricSample(.clientsDropped, [], .integer(process.dropped)),
            MetricSample(.clientsRefused, [], .integer(process.refused)),
            MetricSample(.workers, [], .integer(process.workers)),
            MetricSample(.memory, [], .integer(process.memoryBytes)),
        ]
    }

    private mutating func add(_ overview: StoreOverview, now: Timestamp) {
        let labels = [overview.store.path]
        let traffic = overview.traffic
        func sample(_ metric: Metric, _ value: Int64) -> MetricSample {
            MetricSample(metric, labels, .integer(value))
        }
        let isOpen = overview.store.state == .open
        samples += [
            sample(.storeUp, isOpen ? 1 : 0),
            sample(.storeTroubles, isOpen ? Int64(overview.troubles.count) : 0),
            sample(.notices, traffic.notices),
            MetricSample(.noticeLatency, labels, .histogram(traffic.latency)),
            sample(.subscribers, Int64(overview.store.subscribers)),
            sample(.subscribersLagged, traffic.lagged),
            sample(.databaseBytes, overview.databaseBytes),
            sample(.walBytes, overview.walBytes),
            sample(.errors, traffic.errors),
        ]
        if let number = overview.store.head?.number {
            samples.append(sample(.transactions, number))
        }
        if let time = traffic.lastErrorTime {
            samples.append(MetricSample(.lastError, labels, .seconds(time)))
        }
        if let contents = overview.contents {
            samples.append(sample(.pendingRows, contents.pendingRows))
            samples.append(sample(.conflicts, contents.conflicts))
            let holder = overview.holdingBack(at: now)
            samples.append(sample(.purgeHeld, holder.map(overview.behind) ?? 0))
            addReaders(contents, of: overview, now: now)
        }
        for remote in overview.remotes.prefix(Self.perStoreMax) { add(remote, labels, now: now) }
    }

    private mutating func addReaders(
        _ contents: StoreOverview.Contents, of overview: StoreOverview, now: Timestamp
    ) {
        let path = overview.store.path
        for consumer in contents.consumers.prefix(Self.perStoreMax) {
            let labels = [path, consumer.name]
            samples.append(
                MetricSample(.consumerBehind, labels, .integer(overview.behind(consumer))))
            samples.append(MetricSample(.consumerLastSeen, labels, .seconds(consumer.lastSeen)))
        }
        for replica in contents.replicas.prefix(Self.perStoreMax) {
            let labels = [path, replica.replica.description, replica.name ?? ""]
            samples.append(MetricSample(.replicaBehind, labels, .integer(replica.behind)))
            let age = Self.age(of: replica.behindSince, now: now)
            samples.append(MetricSample(.replicaBehindSeconds, labels, age))
        }
    }

    private mutating func add(_ remote: RemoteStatus, _ labels: [String], now: Timestamp) {
        let labels = labels + [remote.name]
        samples += [
            MetricSample(.remoteUp, labels, .integer(remote.error == nil ? 1 : 0)),
            MetricSample(.remoteFailures, labels, .integer(remote.failures)),
        ]
        // What is not known is not 0.
        if let behind = remote.behind {
            let age = Self.age(of: remote.behindSince, now: now)
            samples.append(MetricSample(.remoteBehind, labels, .integer(behind)))
            samples.append(MetricSample(.remoteBehindSeconds, labels, age))
        }
        if let last = remote.lastSync {
            samples.append(MetricSample(.remoteLastSync, labels, .seconds(last)))
        }
    }

    private static func age(of time: Timestamp?, now: Timestamp) -> MetricSample.Value {
        guard let time else { return .integer(0) }
        let (age, isBeyond) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        return .seconds(milliseconds: isBeyond ? 0 : max(0, age))
    }
}

extension MetricSample.Value {
    fileprivate static func seconds(_ time: Timestamp) -> Self {
        .seconds(milliseconds: time.milliseconds)
    }

    fileprivate func combined(with other: Self, _ combination: Metric.Combination) -> Self {
        switch (self, other) {
        case (.histogram(var histogram), .histogram(let more)):
            histogram.add(more)
            return .histogram(histogram)
        case (.histogram, _), (_, .histogram): return self
        default: break
        }
        switch combination {
        case .greatest: return milliseconds >= other.milliseconds ? self : other
        case .least: return milliseconds <= other.milliseconds ? self : other
        case .sum:
            if case .integer(let first) = self, case .integer(let second) = other {
                return .integer(first &+ second)
            }
            return .seconds(milliseconds: milliseconds &+ other.milliseconds)
        }
    }

    /// To compare two of one metric, which may be a whole number beside a time.
    private var milliseconds: Int64 {
        switch self {
        case .integer(let value): value &* 1000
        case .seconds(let milliseconds): milliseconds
        case .histogram(let histogram): histogram.sum
        }
    }
}
