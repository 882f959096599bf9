import SyncReplica

/// A store that a command opens in this process.
enum LocalStore {
    /// Opens the store, and closes it afterwards. What was written past the triggers is recorded
    /// first; what the history does not have is said on standard error, whatever the command shows.
    ///
    /// - Parameter path: as the user typed it.
    /// - Throws: ``SyncError``, what `body` throws.
    static func with<Result>(_ path: String, _ body: (Store) throws -> Result) throws -> Result {
        let absolute = StorePath.absolute(path)
        let store = try Store.open(absolute)
        let result: Result
        do {
            if try store.mendCapture() { try recordMissed(absolute) }
            result = try body(store)
        } catch {
            // The first error is the one to report.
            try? store.close()
            throw error
        }
        for line in gaps(of: store) {
            try Terminal.error.line("\(path): \(TypedPath(path).fillingIn(line))")
        }
        try store.close()
        return result
    }

    /// The same for a command that reports what is wrong with the store: nothing is repaired, and
    /// nothing said.
    ///
    /// - Throws: as ``with(_:_:)``.
    static func checking<Result>(
        _ path: String, _ body: (Store) throws -> Result
    ) throws -> Result {
        let store = try Store.open(
            StorePath.absolute(path), isResolved: false, isMending: false)
        do {
            let result = try body(store)
            try store.close()
            return result
        } catch {
            try? store.close()
            throw error
        }
    }

    /// Ensures that a store tracks a table.
    ///
    /// - Parameter path: as the user typed it.
    /// - Throws: `unknownEntity`; as ``Store/open(_:)``.
    static func require(entity: String, in path: String) throws {
        let store = try Store.open(StorePath.absolute(path))
        defer { try? store.close() }
        let names = try store.status().entities
        guard !names.contains(where: { $0.lowercased() == entity.lowercased() }) else { return }
        throw SyncError.unknownEntity(entity, among: names)
    }

    /// What the history did not have at the last query, a sentence each.
    static func gaps(of store: Store) -> [String] {
        var lines = store.unrecorded.map { "not all is in the history: \($0.explanation)" }
        // A migration ends by itself, and until then nothing may be repaired.
        if !store.unrecorded.contains(where: \.isOfMigration), let last = lines.popLast() {
            lines.append(last + ". Repair it: synctool doctor DB --mend")
        }
        if let unsettled = store.unsettled { lines.append(unsettled.explanation) }
        return lines
    }

    private static func recordMissed(_ path: String) throws {
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        _ = try replica.recordMissed()
    }
}
