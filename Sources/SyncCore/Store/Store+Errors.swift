import SyncStorage
import SyncValues

/// Errors that name the file, the operation and the command to run next.
extension Store {
    /// Runs `body`; an error of it gets file and operation.
    /// - Throws: the ``SyncError`` of `body`, with operation and file.
    package static func explaining<Result>(
        _ operation: String, at path: String, _ body: () throws -> Result
    ) throws -> Result {
        do { return try body() } catch {
            throw explained(error, path: path, operation: operation)
        }
    }

    /// Runs `body`; an error of it gets operation and file.
    /// - Throws: the ``SyncError`` of `body`, with operation and file.
    package func explaining<Result>(
        _ operation: String, in body: () throws -> Result
    ) throws -> Result {
        do { return try body() } catch {
            throw Self.explained(error, path: path, operation: operation, openedAs: file)
        }
    }

    /// The error with file and operation, where it has none yet.
    ///
    /// - Parameter file: the open file; nil: none was opened, what is at the path counts.
    package static func explained(
        _ error: any Error, path: String, operation: String, openedAs file: FileIdentity? = nil
    ) -> any Error {
        guard var error = damage(error) ?? SyncError(wrapping: error) else { return error }
        // A statement on a table that was dropped under an open store.
        if error.code == .refused, let cause = damage(at: path, openedAs: file) { error = cause }
        if error.path == nil { error.path = path }
        if error.operation == nil { error.operation = operation }
        if error.code == .readOnly, error.hint == nil {
            error.hint =
                "Make the file, its folder and its -wal and -shm files writable: ls -l DB*"
        }
        return error
    }

    /// What is kept as JSON in the tables of the record cannot be read.
    private static func damage(_ error: any Error) -> SyncError? {
        let context: DecodingError.Context
        switch error as? DecodingError {
        case .dataCorrupted(let found), .keyNotFound(_, let found), .typeMismatch(_, let found),
            .valueNotFound(_, let found):
            context = found
        default: return nil
        }
        return SyncError(
            .corrupt,
            "JSON in one of the tables syncd_… is not as it was written "
                + "(\(context.debugDescription))",
            hint: Metadata.startOverHint)
    }

    /// Why a store that was open cannot be used any more; nil when it is whole.
    private static func damage(at path: String, openedAs file: FileIdentity?) -> SyncError? {
        // Another file at the path is none of its business: to open one that has just been moved
        // there would give it the WAL of the one before.
        guard file == nil || FileIdentity(path: path) == file,
            let queue = try? DatabaseOpener.open(
                path, for: .reading, expecting: file.map { .file($0) } ?? .any)
        else { return nil }
        defer { try? queue.close() }
        do {
            try queue.read { database in
                try StoreDamage.requireReadable(database)
                try StoreObjects(database).requireNoClash(database)
            }
            return nil
        } catch let error as SyncError {
            return error.code == .newerFormat ? nil : error
        } catch {
            return nil
        }
    }
}
