extension ManagedObjectContext {
    /// The number of objects of a request: now, and after each change by any context or process.
    /// Intermediate numbers may be skipped; the last is always right.
    ///
    /// - Throws: ``ObjectError`` when the request is invalid.
    public func counts<Object: ManagedObject>(
        of request: FetchRequest<Object>
    ) throws -> AsyncStream<Int> {
        let events = events
        let first = try count(for: request)
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield(first)
            let task = Task { [weak self] in
                var last = first
                for await _ in events {
                    guard let self else { break }
                    // A read error is reported by the context; the last count stays valid.
                    guard let count = try? self.count(for: request) else { continue }
                    if count != last { continuation.yield(count) }
                    last = count
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
