import Dispatch

extension DispatchQueue {
    /// Runs a blocking body outside of the cooperative thread pool.
    /// - Throws: what `body` throws.
    func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
