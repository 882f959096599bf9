import CFaults

/// The statements of SQLite on one thread, as they begin.
package enum Statements {
    /// Calls a function before each statement that this thread begins meanwhile, also those of
    /// triggers, on connections that are opened meanwhile. Only one can be called at a time.
    /// - Throws: what `body` throws; after it, the first error of `begins`.
    package static func observing<Result>(
        _ begins: () throws -> Void, during body: () throws -> Result
    ) throws -> Result {
        try withoutActuallyEscaping(begins) { begins in
            let observer = Observer(begins)
            let status = syncd_statements_observe(
                { Unmanaged<Observer>.fromOpaque($0!).takeUnretainedValue().notice() },
                Unmanaged.passUnretained(observer).toOpaque())
            defer { syncd_statements_observe(nil, nil) }
            guard status == 0 else { throw SimulationFailure("SQLite observes no statements") }
            return try withExtendedLifetime(observer) {
                let result = try body()
                if let error = observer.error { throw error }
                return result
            }
        }
    }

    private final class Observer {
        private let begins: () throws -> Void
        private(set) var error: (any Error)?

        init(_ begins: @escaping () throws -> Void) { self.begins = begins }

        func notice() {
            guard error == nil else { return }
            do { try begins() } catch { self.error = error }
        }
    }
}
