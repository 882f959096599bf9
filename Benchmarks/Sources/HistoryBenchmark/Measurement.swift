import CWriter
import Foundation
import PlainWriter
import SyncCore

/// One question to a store, its floor, and the memory of the process that asked it.
enum Measurement {
    static let names = [
        "newest 100", "100 after the middle", "one object", "a rare author", "an author, newest 10",
        "open", "purge of half",
    ]

    static func run(_ name: String, path: String, count: Int64) throws {
        let clock = ContinuousClock()
        var store: Store?
        let opening = try clock.measure { store = try Store.open(path) }
        guard let store else { return }
        if name == "open" { return report(name, opening, nil, "") }
        if name == "purge of half" { return try purge(store, path, count) }
        var query = HistoryQuery()
        let sql = try ask(name, store, count, &query)
        var found = 0
        let first = try clock.measure { found = try store.history(query).count }
        let again = try median { _ = try store.history(query) }
        let writer = try Writer(path)
        let floor = try median { try writer.readAll(sql) }
        report(
            name, again, floor,
            "; the first time \(text(first)); \(found) transactions")
    }

    /// Sets up the query; returns the SQL that reads the same rows.
    private static func ask(
        _ name: String, _ store: Store, _ count: Int64, _ query: inout HistoryQuery
    ) throws -> String {
        let columns =
            "SELECT t.*, c.* FROM syncd_transaction t JOIN syncd_change c ON "
            + "c.seq BETWEEN t.first AND t.number WHERE "
        switch name {
        case "newest 100":
            query.reverse = true
            query.limit = 100
            return columns + "t.number > \(count - 100)"
        case "100 after the middle":
            query.after = try token(store, count / 2)
            query.limit = 100
            return columns + "t.number > \(count / 2) AND t.number <= \(count / 2 + 100)"
        case "one object":
            query.object = try ObjectName(path: "item/77")
            return "SELECT t.*, c.* FROM syncd_change c JOIN syncd_transaction t "
                + "ON t.number = c.seq WHERE c.key = 77"
        case "a rare author":
            query.authors = ["early"]
            return columns + "t.number = \(count / 2 + 7)"
        default:
            query.authors = ["importer"]
            query.reverse = true
            query.limit = 10
            return columns + "t.number > \(count - 100) AND t.number % 10 = 0"
        }
    }

    private static func token(_ store: Store, _ number: Int64) throws -> Token {
        let check = UInt32(truncatingIfNeeded: 1_700_000_000_000 + number)
        let text = "1.\(store.id).\(store.epoch).\(number)." + String(check, radix: 16)
        return try Token(text)
    }

    /// While the purge runs another connection writes single rows: how long it is held up.
    private static func purge(_ store: Store, _ path: String, _ count: Int64) throws {
        let stop = Flag()
        let waits = Thread.beside { try heldUp(path, until: stop) }
        let clock = ContinuousClock()
        var report: PurgeReport?
        let spent = try clock.measure {
            report = try store.purge(before: try token(store, count / 2))
        }
        stop.set()
        let longest = (waits.wait() ?? [.zero]).sorted()
        let removed = report?.transactions ?? 0
        let rate = Double(removed) / seconds(spent)
        self.report(
            "purge of half", spent, nil,
            "; \(removed) transactions, \(Int(rate / 1000))k a second; a writer beside it waited "
                + "p50 \(text(longest[longest.count / 2])), longest \(text(longest.last ?? .zero))")
    }

    private static func heldUp(_ path: String, until stop: Flag) throws -> [Duration] {
        let writer = try Writer(path)
        try writer.run("PRAGMA busy_timeout = 20000")
        var waits: [Duration] = []
        let clock = ContinuousClock()
        while !stop.isSet {
            waits.append(
                try clock.measure { try writer.run("INSERT INTO item(title) VALUES ('x')") })
            usleep(2_000)
        }
        return waits
    }

    private static func median(_ body: () throws -> Void) throws -> Duration {
        let clock = ContinuousClock()
        let times = try (0..<21).map { _ in try clock.measure(body) }
        return times.sorted()[10]
    }

    private static func report(
        _ name: String, _ time: Duration, _ floor: Duration?, _ more: String
    ) {
        let peak = memory("VmHWM:")
        let ratio = floor.map {
            String(format: ", %.1f times plain SQL", seconds(time) / seconds($0))
        }
        print(
            name.padding(toLength: 24, withPad: " ", startingAt: 0) + text(time) + (ratio ?? "")
                + ", peak memory \(peak / 1024) MB" + more)
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    private static func text(_ duration: Duration) -> String {
        let value = seconds(duration)
        return value < 1 ? String(format: "%.2f ms", value * 1000) : String(format: "%.1f s", value)
    }

    /// In kilobytes.
    private static func memory(_ field: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
        return line.flatMap { Int($0.split(separator: " ").dropLast().last ?? "") } ?? 0
    }
}
