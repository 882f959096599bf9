import Foundation
import SyncCore
import SyncObjects
import SyncTesting
import Synchronization

final class StressList: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @ToMany("items") var items: [StressItem]
}

final class StressItem: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @Attribute("number") var number: Int?
    @ToOne("list") var list: StressList?
}

/// One process's part.
final class Stress: Sendable {
    static let objects = 1000
    static let lists = 20

    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel([
            EntityDescription(
                "List", class: StressList.self, attributes: [AttributeDescription("title")],
                relationships: [.toMany("items", to: "Item", inverse: "list", deleteRule: .nullify)]
            ),
            EntityDescription(
                "Item", class: StressItem.self,
                attributes: [
                    AttributeDescription("title"),
                    AttributeDescription("number", .integer64, default: 0),
                ],
                relationships: [.toOne("list", to: "List", inverse: "items")], indexes: [["number"]]
            ),
        ])
    }

    /// Makes a tracked store with its objects.
    static func prepare(_ path: String) throws {
        let container = try open(path)
        let context = try container.newBackgroundContext()
        let lists = try (0..<Self.lists).map { number in
            let list = try StressList(context: context)
            list.title = "list \(number)"
            return list
        }
        for number in 0..<Self.objects {
            let item = try StressItem(context: context)
            item.title = "item \(number)"
            item.number = number
            item.list = lists[number % lists.count]
        }
        try context.save()
        _ = try Store.track(path)
        container.close()
    }

    private static func open(_ path: String) throws -> PersistentContainer {
        var description = StoreDescription(.file(URL(fileURLWithPath: path)))
        description.busyTimeout = .seconds(30)
        let container = PersistentContainer(
            name: "stress", model: try model(), description: description)
        try container.load()
        return container
    }

    private struct Counts {
        var operations = 0
        var saves = 0
        var conflicts = 0
        var unexpected: [String] = []
    }

    private let container: PersistentContainer
    private let shared: [ManagedObjectContext]
    private let lists: [FetchedResultsController<StressItem>]
    private let held: [StressItem]
    private let counts = Mutex(Counts())

    init(_ path: String) throws {
        container = try Self.open(path)
        let container = container
        shared = try (0..<2).map { number in
            let context = try container.newBackgroundContext(author: "stress \(getpid())")
            context.mergePolicy = number == 0 ? .discardLocal : .keepStored
            return context
        }
        lists = try shared.map { context in
            let controller = try FetchedResultsController(
                FetchRequest<StressItem>(sortedBy: [SortKey("number"), SortKey("title")]),
                context: context)
            try controller.performFetch()
            return controller
        }
        held = try shared.flatMap { try $0.fetch(StressItem.self) }
        try container.followExternalChanges(through: nil)
    }

    var summary: String {
        counts.withLock {
            "process \(getpid()): \($0.operations) operations, \($0.saves) saves, "
                + "\($0.conflicts) conflicts"
        }
    }

    // MARK: Work

    func run(seconds: Double, threads: Int, seed: UInt64) {
        let end = ContinuousClock.now + .seconds(seconds)
        let group = DispatchGroup()
        for number in 0..<threads {
            let thread = Thread {
                self.work(
                    until: end, random: SeededRandom(seed: seed &* 31 &+ UInt64(number)),
                    number: number)
                group.leave()
            }
            thread.stackSize = 4 << 20
            group.enter()
            thread.start()
        }
        group.wait()
    }

    private func work(until end: ContinuousClock.Instant, random start: SeededRandom, number: Int) {
        var random = start
        // Half of the threads share contexts, the others have their own for a while.
        var context = number % 2 == 0 ? shared[number / 2 % shared.count] : nil
        while ContinuousClock.now < end {
            do {
                if number % 2 == 1, context == nil || random.below(50) == 0 {
                    context = try container.newBackgroundContext(author: "own \(number)")
                    context?.mergePolicy = random.below(2) == 0 ? .keepStored : .discardLocal
                }
                guard let context else { continue }
                try act(on: context, random: &random)
                counts.withLock { $0.operations += 1 }
            } catch let error as ObjectError {
                note(error, in: context)
            } catch {
                counts.withLock { $0.unexpected.append("\(error)") }
            }
        }
    }

    private func note(_ error: ObjectError, in context: ManagedObjectContext?) {
        let codes = Set(([error] + error.details).map(\.code))
        let expected: Set<ObjectError.Code> = [
            .mergeConflict, .deletedElsewhere, .deleteOfChangedObject, .noSuchObject, .gone,
            .staleIncarnation, .multipleErrors, .constraintConflict,
        ]
        counts.withLock { counts in
            counts.conflicts += 1
            if codes.isDisjoint(with: expected) { counts.unexpected.append(error.description) }
        }
        context?.rollback()
    }

    private func act(on context: ManagedObjectContext, random: inout SeededRandom) throws {
        switch random.below(20) {
        case 0...5:
            let object = held[random.below(held.count)]
            _ = object.title
            _ = object.list?.title
            _ = object.snapshot { "\($0.title ?? "") \($0.number ?? 0)" }
            _ = object.state
        case 6...9:
            let number = random.below(Self.objects)
            try context.performAndWait {
                try pick(from: context, random: &random)?.number = number
            }
        case 10:
            try context.performAndWait {
                try pick(from: context, random: &random)?.title = "t\(random.below(1000))"
            }
        case 11:
            let lists = try context.fetch(StressList.self)
            try context.performAndWait {
                guard !lists.isEmpty, let item = try pick(from: context, random: &random) else {
                    return
                }
                let list = lists[random.below(lists.count)]
                if !list.state.isGone { item.list = list }
            }
        case 12:
            try context.performAndWait {
                let item = try StressItem(context: context)
                item.title = "new \(random.below(1000))"
                item.number = random.below(Self.objects)
            }
        case 13:
            try context.performAndWait {
                if let item = try pick(from: context, random: &random) { try context.delete(item) }
            }
        case 14: context.rollback()
        case 15: _ = try context.count(for: FetchRequest<StressItem>())
        case 16: if let list = try context.fetch(StressList.self).first { _ = list.items.count }
        default:
            try context.save()
            counts.withLock { $0.saves += 1 }
        }
    }

    private func pick(
        from context: ManagedObjectContext, random: inout SeededRandom
    ) throws -> StressItem? {
        var request = FetchRequest<StressItem>(
            where: try FetchPredicate("number >= %@", random.below(Self.objects)),
            sortedBy: [SortKey("number")], limit: 1)
        request.includesPendingChanges = false
        return try context.fetch(request).first { !$0.state.isGone }
    }

    // MARK: The comparison

    /// What contexts show and the store does not have, or the other way round. No process writes
    /// any more.
    func differences() -> [String] {
        var problems = counts.withLock(\.unexpected)
        do {
            for context in shared { context.rollback() }
            _ = try container.coordinator.checkForExternalChanges()
            for context in shared { try context.mergeChanges() }
            let fresh = try container.newBackgroundContext()
            let request = FetchRequest<StressItem>(
                sortedBy: [SortKey("number"), SortKey("title")])
            let stored = try fresh.fetch(request)
            var rows: [ManagedObjectID: String] = [:]
            for item in stored { rows[item.objectID] = Self.text(item) }
            for (context, controller) in zip(shared, lists) {
                problems += try compare(
                    context, list: controller, rows: rows, ids: stored.map(\.objectID))
            }
            for object in held where !object.state.isGone {
                if rows[object.objectID] != Self.text(object) {
                    problems.append(
                        "\(object.objectID) is \(Self.text(object)), stored "
                            + "\(rows[object.objectID] ?? "nothing"), \(object.state)")
                }
            }
        } catch {
            problems.append("\(error)")
        }
        return problems
    }

    private func compare(
        _ context: ManagedObjectContext, list controller: FetchedResultsController<StressItem>,
        rows: [ManagedObjectID: String], ids: [ManagedObjectID]
    ) throws -> [String] {
        var problems: [String] = []
        for object in context.registeredObjects {
            guard let item = object as? StressItem, !item.state.isGone else { continue }
            if rows[item.objectID] != Self.text(item) {
                problems.append(
                    "\(item.objectID): \(Self.text(item)), stored "
                        + "\(rows[item.objectID] ?? "nothing"), \(item.state)")
            }
        }
        if controller.snapshot?.ids != ids {
            let shown = Set(controller.snapshot?.ids ?? [])
            let wanted = Set(ids)
            problems.append(
                "a list shows \(shown.count) of \(wanted.count): extra \(shown.subtracting(wanted)),"
                    + " missing \(wanted.subtracting(shown)), \(String(describing: controller.lastError))"
            )
        }
        return problems
    }

    private static func text(_ item: StressItem) -> String {
        "\(item.title ?? "-") \(item.number ?? -1) \(item.list?.objectID.description ?? "-")"
    }
}
