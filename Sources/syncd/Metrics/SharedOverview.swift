import SyncClient

/// The overview of all stores, for those who are not told of single ones or of all: computed by one
/// at a time, and not more often than once a second, no matter who asks how often.
actor SharedOverview {
    private static let ageMax = Duration.seconds(1)

    private let compute: @Sendable () async throws -> DaemonOverview
    private var last: (time: ContinuousClock.Instant, overview: DaemonOverview)?
    private var isBusy = false
    private var waiting: [CheckedContinuation<Result<DaemonOverview, any Error>, Never>] = []

    init(_ compute: @escaping @Sendable () async throws -> DaemonOverview) {
        self.compute = compute
    }

    /// - Throws: what computing it throws.
    func overview() async throws -> DaemonOverview {
        if let last, ContinuousClock.now - last.time < Self.ageMax { return last.overview }
        if isBusy { return try await withCheckedContinuation { waiting.append($0) }.get() }
        isBusy = true
        let result: Result<DaemonOverview, any Error>
        do {
            result = .success(try await compute())
        } catch {
            result = .failure(error)
        }
        if case .success(let overview) = result { last = (.now, overview) }
        isBusy = false
        let waiters = waiting
        waiting = []
        for one in waiters { one.resume(returning: result) }
        return try result.get()
    }
}
