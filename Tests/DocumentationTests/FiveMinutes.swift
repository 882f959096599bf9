import Foundation
import GRDB
import SyncClient
import SyncCore
import SyncObjects

/// The code of `docs/swift-in-five-minutes.md`, `docs/writers.md` and `README.md`: each block of a
/// page is here between `// page:` and `// end`, with what the program around it would provide.
struct FiveMinutes {
    let path: String
    /// Takes what the code prints.
    let output: Output
    /// Another process that writes to the database.
    let write: @Sendable (_ sql: String) throws -> Void

    private func print(_ items: Any...) {
        output.append(items.map { "\($0)" }.joined(separator: " "))
    }

    /// Stands for the place where a program keeps its position.
    private func save(_ token: Token) throws {
        print("at", token.number)
        try write("UPDATE Album SET Title = 'Load (Live)' WHERE AlbumId = 348")
        try write("DELETE FROM Album WHERE AlbumId = 348")
    }

    func readHistory() throws {
        // page: history
        try Store.track(path)  // Once. Your tables stay as they are.

        let store = try Store.open(path)
        var query = HistoryQuery()
        query.after = try store.head()  // Keep this token: the next run continues after it.
        // end
        try write("UPDATE Album SET Title = 'Load (Live)' WHERE AlbumId = 348")
        // page: history, later
        for transaction in try store.history(query) {
            for change in transaction.changes {
                print(transaction.number, change.kind, change.object.path, change.properties)
            }
        }
        try store.close()
        // end
    }

    func subscribe(socket: String) async throws {
        let client = StoreClient(socket: socket)
        // page: subscription
        _ = try await client.track(path)

        var options = SubscriptionOptions()
        options.hold = [try ObjectName(path: "Album/348")]
        for try await notice in client.subscribe(path, options: options) {
            switch notice {
            case .began(let token): try save(token)
            case .transaction(let transaction): print(transaction.number, transaction.changes.count)
            case .changed(let changed): print(changed.object.path, changed.properties)
            case .gone(let gone):
                print(gone.object.path, "was deleted by", gone.by?.author ?? "an unknown author")
                return
            default: break
            }
        }
        // end
    }

    func observe(socket: String) async throws {
        let client = StoreClient(socket: socket)
        _ = try await client.track(path)
        let writer = Task {
            for number in 1...300 {
                try write("INSERT INTO Artist(Name) VALUES ('\(number)')")
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        defer { writer.cancel() }
        // page: observation
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let pool = try DatabasePool(path: path, configuration: configuration)
        async let _: Void = pool.observeForeignCommits(of: path, through: client)

        let counts = ValueObservation.tracking {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM Artist") ?? 0
        }
        for try await count in counts.removeDuplicates().values(in: pool) {
            if count > 5 { break }
        }
        // end
        print("counted")
    }

    func sign(_ database: DatabaseQueue) async throws {
        // page: signature
        try await database.write { db in
            try db.execute(
                sql: "INSERT INTO syncd_txn(author, context, pid) VALUES (?, ?, ?)",
                arguments: [
                    "editor", "album window", ProcessInfo.processInfo.processIdentifier,
                ])
            try db.execute(
                sql: "UPDATE Album SET Title = ? WHERE AlbumId = ?", arguments: ["Jazz", 348])
            try db.execute(sql: "INSERT INTO syncd_txn(author) VALUES (NULL)")
        }
        // end
    }

    func objects(at url: URL) async throws {
        // page: objects
        let model = try ManagedObjectModel([
            EntityDescription(
                "Album", class: Album.self,
                attributes: [AttributeDescription("title", optional: true)])
        ])
        let container = PersistentContainer(
            name: "Music", model: model, description: StoreDescription(.file(url)))
        try container.load()
        try Store.track(url.path)  // So that a deleted object knows when, why and by whom.
        try container.followExternalChanges()

        let context = try container.newBackgroundContext(author: "editor")
        let album = try await context.perform {
            let album = try Album(context: context)
            album.title = "Load"
            try context.save()
            return album
        }
        // end
        try write("DELETE FROM Album")
        for _ in 0..<2000 where !album.state.isGone { try await Task.sleep(for: .milliseconds(10)) }
        // page: objects, later
        if case .gone(let gone) = album.state {
            print("deleted:", album.lastKnown?["title"] as? String ?? "", gone.cause)
        }
        // end
        container.close()
    }
}

// page: object class
final class Album: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
}
// end

/// What the code of a page prints.
final class Output: @unchecked Sendable {
    /// Guards `text`.
    private let lock = NSLock()
    private var text: [String] = []

    var lines: [String] { lock.withLock { text } }

    func append(_ line: String) { lock.withLock { text.append(line) } }
}
