import Testing

@testable import SyncCore

/// In which halves of history, and in which journal mode, something is undone.
struct UndoMode: Sendable, CustomTestStringConvertible {
    enum Digests: Sendable { case never, always, everySecondTime }

    let digests: Digests
    let wal: Bool

    static let all: [UndoMode] = [Digests.never, .always, .everySecondTime].flatMap { digests in
        [true, false].map { UndoMode(digests: digests, wal: $0) }
    }

    var testDescription: String { "digests \(digests), \(wal ? "WAL" : "DELETE")" }
}

/// A tracked database whose commits are told apart, and digested as the mode says.
final class UndoStage {
    let database: TestDatabase
    let store: Store
    private let mode: UndoMode
    private var writes = 0

    init(_ mode: UndoMode, _ options: [String: CaptureOptions], _ schema: String...) throws {
        self.mode = mode
        database = try TestDatabase(wal: mode.wal)
        for statement in schema { try database.sql(statement) }
        store = try database.store(options)
    }

    /// Runs what is one transaction, and digests.
    func write(_ sql: String) throws {
        try database.sql(sql)
        try settle()
    }

    /// In the rollback journal modes commits are told apart only when each is looked at.
    func settle() throws {
        writes += 1
        _ = try store.poll()
        switch mode.digests {
        case .never: break
        case .always: _ = try store.digest()
        case .everySecondTime: if writes.isMultiple(of: 2) { _ = try store.digest() }
        }
    }

    func last() throws -> Transaction { try #require(try store.history().last) }
}
