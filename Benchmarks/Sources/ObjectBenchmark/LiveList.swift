import Foundation
import SyncCore
import SyncObjects

/// A list of 10,000 rows that is kept up to date while another process commits 100 single changes a
/// second.
enum LiveList {
    private static let rows = 10_000
    private static let changes = 300

    static func run(_ folder: String) async throws {
        for (name, isTracked) in [("by history", true), ("by looking again", false)] {
            let path = folder + "/objects-live-\(getpid()).db"
            defer { Main.remove(path) }
            let container = try Main.container(path)
            let context = try container.newBackgroundContext()
            try context.performAndWait {
                for number in 0..<rows { Main.fill(try Item(context: context), number) }
                try context.save()
            }
            if isTracked { _ = try Store.track(path) }
            try container.followExternalChanges(through: nil)
            let request = FetchRequest<Item>(sortedBy: [SortKey("priority"), SortKey("title")])
            let controller = try FetchedResultsController(request, context: context)
            try controller.performFetch()
            let before = Meter.processSeconds()
            let delays = try await follow(controller, path)
            let each = (Meter.processSeconds() - before) / Double(delays.count)
            Meter.row(
                "live list, \(name)", "\(delays.count)", Meter.number(each * 1_000_000),
                Meter.number(Meter.median(delays) * 1000))
            container.close()
        }
    }

    /// Seconds from each commit to the update that shows it.
    private static func follow(
        _ controller: FetchedResultsController<Item>, _ path: String
    ) async throws -> [Double] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import sqlite3, sys, time
            c = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
            n = int(sys.argv[2])
            for i in range(n):
                time.sleep(0.01)
                c.execute('UPDATE Item SET note = ? WHERE id = ?',
                          ('%.6f' % time.time(), (i * 7919) % 10000 + 1))
            """, path, String(changes),
        ]
        let updates = controller.updates
        try process.run()
        var delays: [Double] = []
        var isFirst = true
        var seen: Set<String> = []
        for await update in updates {
            let now = Date().timeIntervalSince1970
            if isFirst {
                isFirst = false
                continue
            }
            for id in update.reconfigured {
                guard let object = controller.context.registeredObject(for: id) as? Item,
                    let note = object.note, let time = Double(note), seen.insert(note).inserted
                else { continue }
                delays.append(now - time)
            }
            if delays.count >= changes { break }
        }
        process.waitUntilExit()
        return delays
    }
}
