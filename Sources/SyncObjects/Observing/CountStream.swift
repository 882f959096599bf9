extension ManagedObjectContext {
    /// How many objects a request asks for: now, and after each change, whoever made it. May leave
    /// out numbers in between; the last is always right.
    ///
    /// - Throws: ``ObjectError`` when the request makes no sense.
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
                    // A count that cannot be read is told by the context; the last one stands.
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
