import Foundation
import GRDB
import SyncCore
import SyncObjects

/// Managed objects beside GRDB's records and SQLite itself, in one run.
///
///     ObjectBenchmark [objects] [rounds] [folder] [reading|writing|live]
///
/// Each figure is the median of the rounds, in microseconds of wall time for one object; the ratio
/// is that to the column it names. Writing is measured with capture on for everybody. Defaults:
/// 100,000 objects, 5 rounds, the temporary folder.
@main
enum Main {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let count = arguments.first.flatMap(Int.init) ?? 100_000
        let rounds = arguments.count > 1 ? Int(arguments[1]) ?? 5 : 5
        let folder =
            arguments.count > 2 ? arguments[2] : FileManager.default.temporaryDirectory.path
        guard count >= 1000, rounds > 0 else { return print("objects and rounds are numbers") }
        let part = arguments.count > 3 ? arguments[3] : ""
        Meter.row("us for one object", "SQLite", "GRDB", "objects", "ratio", "goal")
        if part.isEmpty || part == "reading" { try reading(count, rounds, folder) }
        if part.isEmpty || part == "writing" { try writing(count, rounds, folder) }
        guard part.isEmpty || part == "live" else { return }
        print("")
        Meter.row("", "changes", "us CPU each", "ms to show")
        try await LiveList.run(folder)
    }

    static func remove(_ path: String) {
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    }

    static func container(_ path: String) throws -> PersistentContainer {
        remove(path)
        let container = PersistentContainer(
            name: "benchmark", model: try Item.model(),
            description: StoreDescription(.file(URL(fileURLWithPath: path))))
        try container.load()
        return container
    }

    static func fill(_ item: Item, _ number: Int) {
        let values = ItemValues(number)
        item.title = values.title
        item.note = values.note
        item.priority = values.priority
        item.weight = values.weight
        item.created = values.created
    }

    private static func report(
        _ name: String, _ count: Int, _ plain: [Double], _ records: [Double]?, _ objects: [Double],
        goal: String
    ) {
        let each = { (values: [Double]) in Meter.median(values) / Double(count) * 1_000_000 }
        let base = records ?? plain
        Meter.row(
            name, Meter.number(each(plain)), records.map { Meter.number(each($0)) } ?? "-",
            Meter.number(each(objects)), Meter.number(Meter.median(objects) / Meter.median(base)),
            goal)
    }

    // MARK: Reading

    private static func reading(_ count: Int, _ rounds: Int, _ folder: String) throws {
        let path = folder + "/objects-read-\(getpid()).db"
        defer { remove(path) }
        let container = try container(path)
        let plain = try PlainSQLite(path)
        try plain.insert(0..<count)
        let records = try DatabaseQueue(path: path)
        let all = "SELECT id, title, note, priority, done, weight, created FROM Item ORDER BY id"
        var times: [String: (plain: [Double], records: [Double], objects: [Double])] = [:]
        func note(_ name: String, _ plain: Double, _ records: Double, _ objects: Double) {
            times[name, default: ([], [], [])].plain.append(plain)
            times[name]?.records.append(records)
            times[name]?.objects.append(objects)
        }
        var bytes: [Double] = []
        for _ in 0..<rounds {
            let fetchPlain = try Meter.seconds { try plain.readAll(all) }.0
            let fetchRecords = try Meter.seconds {
                try records.read { try ItemRecord.fetchAll($0, sql: all) }
            }.0
            let context = try container.newBackgroundContext()
            let before = Meter.residentBytes()
            let (fetchObjects, objects) = try Meter.seconds { try context.fetch(Item.self) }
            bytes.append(Double(Meter.residentBytes() - before) / Double(count))
            note("fetch", fetchPlain, fetchRecords, fetchObjects)
            let (touch, sum) = Meter.seconds { touchAll(objects) }
            precondition(sum > 0)
            note("fetch, then read each property", fetchPlain, fetchRecords, fetchObjects + touch)
            let again = try Meter.seconds { try context.fetch(Item.self) }.0
            note("fetch again, objects known", fetchPlain, fetchRecords, again)
            try withExtendedLifetime(objects) {
                let ids = "SELECT id FROM Item ORDER BY id"
                let (idsPlain, keys) = try Meter.seconds { try plain.readIDs(ids) }
                let idsRecords = try Meter.seconds {
                    try records.read { try Int64.fetchAll($0, sql: ids) }
                }.0
                let idsObjects = try Meter.seconds {
                    try context.fetchIDs(FetchRequest<Item>())
                }.0
                note("fetch ids", idsPlain, idsRecords, idsObjects)
                try faulting(container, plain, records, keys, note)
            }
        }
        for (name, goal) in [
            ("fetch", "1.50"), ("fetch, then read each property", ""),
            ("fetch again, objects known", ""), ("fetch ids", ""),
            ("fault one by one", ""), ("fault in batches of 500", ""),
        ] {
            guard let time = times[name] else { continue }
            report(name, count, time.plain, time.records, time.objects, goal: goal)
        }
        Meter.row("bytes of memory for one live object", "", "", Meter.number(bytes[0]))
        container.close()
    }

    private static func touchAll(_ objects: [Item]) -> Int {
        var sum = 0
        for item in objects {
            sum += (item.title?.utf8.count ?? 0) + (item.note?.utf8.count ?? 0)
            sum += (item.priority ?? 0) + (item.done == true ? 1 : 0)
            sum += Int(item.weight ?? 0) & 1
            sum += Int(item.created?.timeIntervalSince1970 ?? 0) & 1
        }
        return sum
    }

    private static func faulting(
        _ container: PersistentContainer, _ plain: PlainSQLite, _ records: DatabaseQueue,
        _ keys: [Int64], _ note: (String, Double, Double, Double) -> Void
    ) throws {
        let each = try Meter.seconds { try plain.readEach(keys) }.0
        let eachRecord = try Meter.seconds {
            try records.read { db in
                let statement = try db.cachedStatement(
                    sql: "SELECT id, title, note, priority, done, weight, created FROM Item "
                        + "WHERE id = ?")
                for key in keys { _ = try ItemRecord.fetchOne(statement, arguments: [key]) }
            }
        }.0
        let context = try container.newBackgroundContext()
        let ids = try context.fetchIDs(FetchRequest<Item>())
        let (one, kept) = try Meter.seconds { () -> [ManagedObject] in
            let faults = try ids.map { try context.object(with: $0) }
            for fault in faults { _ = (fault as? Item)?.title }
            return faults
        }
        note("fault one by one", each, eachRecord, one)
        let other = try container.newBackgroundContext()
        var request = FetchRequest<Item>()
        request.batchSize = 500
        let batched = try Meter.seconds {
            let faults = try other.fetch(request)
            for fault in faults { _ = fault.title }
        }.0
        note("fault in batches of 500", each, eachRecord, batched)
        withExtendedLifetime(kept) {}
    }

    // MARK: Writing

    private static func writing(_ count: Int, _ rounds: Int, _ folder: String) throws {
        var inserts: (plain: [Double], objects: [Double]) = ([], [])
        var updates: (plain: [Double], objects: [Double]) = ([], [])
        let changed = count / 10
        for _ in 0..<rounds {
            let path = folder + "/objects-plain-\(getpid()).db"
            defer { remove(path) }
            let tables = try container(path)
            _ = try Store.track(path)
            let plain = try PlainSQLite(path)
            inserts.plain.append(try Meter.seconds { try plain.insert(0..<count) }.0)
            let ids = (0..<changed).map { Int64($0 * 10 + 1) }
            updates.plain.append(try Meter.seconds { try plain.update(ids, -1) }.0)
            tables.close()

            let own = folder + "/objects-write-\(getpid()).db"
            defer { remove(own) }
            let container = try container(own)
            _ = try Store.track(own)
            let context = try container.newBackgroundContext(author: "benchmark")
            inserts.objects.append(
                try Meter.seconds {
                    try context.performAndWait {
                        for number in 0..<count { fill(try Item(context: context), number) }
                        try context.save()
                    }
                }.0)
            let objects = try context.fetch(Item.self)
            updates.objects.append(
                try Meter.seconds {
                    try context.performAndWait {
                        for index in 0..<changed { objects[index * 10].weight = -1 }
                        try context.save()
                    }
                }.0)
            container.close()
        }
        report(
            "insert and save, captured", count, inserts.plain, nil, inserts.objects, goal: "1.50")
        report(
            "change one property and save, captured", changed, updates.plain, nil,
            updates.objects, goal: "1.50")
    }
}
