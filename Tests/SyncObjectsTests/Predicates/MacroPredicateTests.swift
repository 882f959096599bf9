import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// `#Predicate`, evaluated by Swift itself on each object, beside what the store answers.
@Suite final class MacroPredicateTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init() throws {
        container = try PersistentContainer.inMemory(try ThingModel.make())
        context = try container.newBackgroundContext()
        try ThingModel.fill(context, seed: 7)
    }

    /// The store's answer and the one in memory are Swift's, for every object of which Swift has
    /// one: `!` of nil has none.
    private func form<Object: ManagedObject>(
        _ predicate: Predicate<Object>, _ name: String = "",
        location: SourceLocation = #_sourceLocation
    ) throws {
        let all = try context.fetch(Object.self)
        let translated = try FetchPredicate(predicate)
        let request = FetchRequest<Object>(where: translated)
        let fetched = Set(try context.fetch(request))
        let query = try context.bind(request).query
        for object in all {
            guard let wanted = try? predicate.evaluate(object) else { continue }
            let comment: Comment = "\(name) \(object.changedOrStored)"
            #expect(fetched.contains(object) == wanted, comment, sourceLocation: location)
            #expect(
                context.matches(object, query: query) == wanted, comment, sourceLocation: location)
        }
    }

    private func refused(
        _ predicate: Predicate<Thing>, location: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: ObjectError.self, sourceLocation: location) {
            let request = FetchRequest<Thing>(where: try FetchPredicate(predicate))
            _ = try context.fetch(request)
        }
    }

    @Test func optionalConditions() throws {
        try form(#Predicate<Thing> { $0.title?.contains("a") ?? true })
        try form(#Predicate<Thing> { $0.title?.contains("a") ?? false })
        try form(#Predicate<Thing> { !($0.title?.contains("a") ?? true) })
        try form(#Predicate<Thing> { !($0.title?.contains("a") ?? false) })
        try form(#Predicate<Thing> { $0.title?.contains("a") == true })
        try form(#Predicate<Thing> { $0.title?.contains("a") == false })
        try form(#Predicate<Thing> { $0.title?.contains("a") != true })
        try form(#Predicate<Thing> { $0.title?.contains("a") != false })
        try form(#Predicate<Thing> { $0.title?.contains("a") == nil })
        try form(#Predicate<Thing> { $0.title?.contains("a") != nil })
        try form(#Predicate<Thing> { $0.title?.starts(with: "a") ?? true })
        try form(#Predicate<Thing> { $0.rank.flatMap { $0 > 4 } ?? true })
        try form(#Predicate<Thing> { $0.rank.flatMap { $0 != 4 } ?? false })
        try form(#Predicate<Thing> { $0.rank.flatMap { $0 != 4 } ?? true })
        try form(#Predicate<Thing> { ($0.rank.flatMap { $0 != 4 })! })
        try form(#Predicate<Thing> { $0.title?.contains("a") ?? ($0.rank == 1) })
        try form(#Predicate<Thing> { $0.title?.contains("a") == $0.rank.flatMap { $0 > 3 } })
        try form(#Predicate<Thing> { $0.title?.contains("a") == $0.done })
        try form(#Predicate<Thing> { ($0.title?.contains("a") ?? false) == ($0.rank != nil) })
        try form(#Predicate<Thing> { $0.title.flatMap { !$0.contains("a") } ?? true })
        try form(#Predicate<Thing> { $0.title.flatMap { !$0.contains("a") } ?? false })
        try form(#Predicate<Thing> { $0.title.flatMap { _ in true } ?? false })
    }

    @Test func nilAndOptionals() throws {
        let none: String? = nil
        try form(#Predicate<Thing> { $0.title == nil })
        try form(#Predicate<Thing> { $0.title != nil })
        try form(#Predicate<Thing> { nil == $0.title })
        try form(#Predicate<Thing> { $0.title == none })
        try form(#Predicate<Thing> { $0.title != none })
        try form(#Predicate<Thing> { _ in none == none })
        try form(#Predicate<Thing> { !($0.title == nil) })
        try form(#Predicate<Thing> { !($0.title == "a") })
        try form(#Predicate<Thing> { $0.rank == $0.stars })
        try form(#Predicate<Thing> { $0.rank != $0.stars })
        try form(#Predicate<Thing> { !($0.rank == $0.stars) })
        try form(#Predicate<Thing> { ($0.rank ?? 3) == 3 })
        try form(#Predicate<Thing> { ($0.rank ?? 3) != 3 })
        try form(#Predicate<Thing> { ($0.rank ?? 0) > ($0.stars ?? 1) })
        try form(#Predicate<Thing> { ($0.rank ?? $0.stars ?? 7) == 7 })
        try form(#Predicate<Thing> { ($0.title ?? "none") == "none" })
        try form(#Predicate<Thing> { ($0.title ?? "ab").contains("b") })
        try form(#Predicate<Thing> { ($0.title ?? "").starts(with: "") })
        try form(#Predicate<Thing> { $0.done ?? true })
        try form(#Predicate<Thing> { $0.done ?? false })
        try form(#Predicate<Thing> { !($0.done ?? true) })
        try form(#Predicate<Thing> { !($0.done ?? false) })
        try form(#Predicate<Thing> { $0.done == true })
        try form(#Predicate<Thing> { $0.done != true })
        try form(#Predicate<Thing> { $0.done == false })
        try form(#Predicate<Thing> { $0.done == nil })
        try form(#Predicate<Thing> { $0.done ?? ($0.rank == 1) })
        try form(#Predicate<Thing> { ($0.done ?? true) && !($0.done ?? false) })
        try form(#Predicate<Thing> { $0.rank! > 1 && $0.stars! <= 1 })
        try form(#Predicate<Thing> { $0.rank.flatMap { $0 } == 1 })
        try form(#Predicate<Thing> { $0.rank.flatMap { _ in 5 } == 5 })
        try form(#Predicate<Thing> { ($0.rank.flatMap { _ in 5 } ?? 6) == 6 })
    }

    @Test func valuesOfEveryType() throws {
        let (date, token) = (ThingModel.dates[2], ThingModel.tokens[1])
        let (blob, price) = (Data([0, 1]), Decimal(string: "9.5") ?? 0)
        let ranks = [1, 3, 7]
        let titles: [String?] = ["a", nil, "%"]
        try form(#Predicate<Thing> { $0.title?.contains("%") == true })
        try form(#Predicate<Thing> { $0.title?.contains("_") ?? true })
        try form(#Predicate<Thing> { $0.title?.contains("*") ?? false })
        try form(#Predicate<Thing> { $0.title?.starts(with: "%") ?? false })
        try form(#Predicate<Thing> { $0.title == "A" })
        try form(#Predicate<Thing> { ($0.title ?? "") < "a" })
        try form(#Predicate<Thing> { $0.title! >= "a" })
        try form(#Predicate<Thing> { $0.title == "é" })
        try form(#Predicate<Thing> { $0.title?.contains("") ?? false })
        try form(#Predicate<Thing> { "abc".contains($0.title ?? "x") })
        try form(#Predicate<Thing> { $0.title?.contains("\\") ?? false })
        try form(#Predicate<Thing> { $0.title == "it's" })
        try form(#Predicate<Thing> { $0.title!.isEmpty })
        try form(#Predicate<Thing> { $0.title?.isEmpty ?? true })
        try form(#Predicate<Thing> { $0.title?.isEmpty == false })
        try form(#Predicate<Thing> { $0.made == date })
        try form(#Predicate<Thing> { $0.made != date })
        try form(#Predicate<Thing> { $0.made! > date })
        try form(#Predicate<Thing> { ($0.made ?? date) >= date })
        try form(#Predicate<Thing> { $0.token == token })
        try form(#Predicate<Thing> { $0.token != token })
        try form(#Predicate<Thing> { $0.blob == blob })
        try form(#Predicate<Thing> { $0.blob != blob })
        try form(#Predicate<Thing> { ($0.blob ?? blob) == blob })
        try form(#Predicate<Thing> { $0.price == price })
        try form(#Predicate<Thing> { $0.price != price })
        try form(#Predicate<Thing> { ($0.price ?? 0) < price })
        try form(#Predicate<Thing> { ($0.price ?? price) == price })
        try form(#Predicate<Thing> { $0.ratio == 0.1 })
        try form(#Predicate<Thing> { ($0.ratio ?? -1) < -0.25 })
        try form(#Predicate<Thing> { ($0.ratio ?? 0) > 1e300 })
        try form(#Predicate<Thing> { ($0.rank ?? 0) == -1 })
        try form(#Predicate<Thing> { ($0.rank ?? 0) > -2 })
        try form(#Predicate<Thing> { $0.rank! < -1 })
        try form(#Predicate<Thing> { ($0.ratio ?? 0) != -0.5 })
        try form(#Predicate<Thing> { (-1...3).contains($0.rank ?? 2) })
        try form(#Predicate<Thing> { (1..<3).contains($0.rank ?? 3) })
        try form(#Predicate<Thing> { ranks.contains($0.rank ?? 1) })
        try form(#Predicate<Thing> { titles.contains($0.title) })
        try form(#Predicate<Thing> { !titles.contains($0.title) })
        try form(#Predicate<Thing> { $0.rank.flatMap { ranks.contains($0) } ?? true })
    }

    @Test func relationships() throws {
        try form(#Predicate<Thing> { $0.box == nil })
        try form(#Predicate<Thing> { $0.box != nil })
        try form(#Predicate<Thing> { $0.box?.name == "a" })
        try form(#Predicate<Thing> { $0.box?.name != "a" })
        try form(#Predicate<Thing> { $0.box?.name == nil })
        try form(#Predicate<Thing> { $0.box?.name != nil })
        try form(#Predicate<Thing> { ($0.box?.name ?? "none") == "none" })
        try form(#Predicate<Thing> { $0.box.flatMap { $0.name ?? "none" } == "none" })
        try form(#Predicate<Thing> { ($0.box.flatMap { $0.name ?? "none" } ?? "none") == "none" })
        try form(#Predicate<Thing> { $0.box?.lids.count == 0 })
        try form(#Predicate<Thing> { $0.box?.lids.count != 0 })
        try form(#Predicate<Thing> { ($0.box?.lids.count ?? 5) == 5 })
        try form(#Predicate<Thing> { ($0.box?.lids.count ?? 1) < 1 })
        try form(#Predicate<Thing> { $0.box?.lids.isEmpty ?? true })
        try form(#Predicate<Thing> { $0.box?.lids.isEmpty == false })
        try form(#Predicate<Thing> { $0.box?.lids.contains { $0.size == 1 } ?? true })
        try form(#Predicate<Thing> { $0.box?.lids.contains { $0.size == 1 } ?? false })
        try form(#Predicate<Thing> { $0.box?.lids.allSatisfy { $0.size == 1 } ?? true })
        try form(#Predicate<Thing> { $0.box?.lids.allSatisfy { $0.size == 1 } ?? false })
        try form(#Predicate<Thing> { !($0.box?.lids.allSatisfy { $0.size == 1 } ?? false) })
        try form(#Predicate<Thing> { $0.box?.lids.filter { $0.size == nil }.count == 0 })
        try form(#Predicate<Thing> { $0.box?.shelf == nil })
        try form(#Predicate<Thing> { $0.box?.shelf != nil })
        try form(#Predicate<Thing> { $0.box?.shelf?.name == "top" })
        try form(#Predicate<Thing> { $0.box?.shelf?.name != "top" })
        try form(#Predicate<Thing> { $0.box?.shelf?.name?.contains("t") ?? true })
        try form(#Predicate<Thing> { $0.box?.shelf?.boxes.count == 0 })
        try form(#Predicate<Thing> { $0.box?.size == $0.rank })
        try form(#Predicate<Thing> { $0.box!.name == "a" })
        try form(#Predicate<ThingBox> { $0.things.isEmpty })
        try form(#Predicate<ThingBox> { !$0.lids.isEmpty })
        try form(#Predicate<ThingBox> { $0.lids.count == 0 })
        try form(#Predicate<ThingBox> { $0.lids.count > ($0.size ?? 0) })
        try form(#Predicate<ThingBox> { $0.lids.contains { $0.size == nil } })
        try form(#Predicate<ThingBox> { $0.lids.allSatisfy { ($0.size ?? 3) > 2 } })
        try form(#Predicate<ThingBox> { !$0.lids.allSatisfy { $0.size == 1 } })
        try form(#Predicate<ThingBox> { $0.things.filter { $0.done ?? true }.count > 3 })
        try form(#Predicate<ThingBox> { $0.things.contains { $0.title?.contains("a") ?? true } })
        try form(
            #Predicate<ThingBox> { $0.things.allSatisfy { $0.rank.flatMap { $0 < 7 } ?? true } })
        try form(#Predicate<ThingBox> { $0.shelf?.boxes.contains { $0.name == nil } ?? true })
    }

    @Test func whatIsNotUnderstoodIsRefused() throws {
        let nan = Double.nan
        refused(#Predicate<Thing> { $0.isOpen })
        refused(#Predicate<Thing> { !$0.isOpen })
        refused(#Predicate<Thing> { $0.label == "a!" })
        refused(#Predicate<Thing> { $0.name == "none" })
        refused(#Predicate<Thing> { $0.trimmed == "a" })
        refused(#Predicate<Thing> { $0.next == 1 })
        refused(#Predicate<Thing> { $0.capped == 1 })
        refused(#Predicate<Thing> { $0.either == 1 })
        refused(#Predicate<Thing> { $0.last == 1 })
        refused(#Predicate<Thing> { $0.nothing == nil })
        refused(#Predicate<Thing> { $0.boxName == "a" })
        refused(#Predicate<Thing> { $0.sorted == "title" })
        refused(#Predicate<Thing> { $0.box?.full == true })
        refused(#Predicate<Thing> { $0.box?.many.count == 1 })
        refused(#Predicate<Thing> { $0.isInserted })
        refused(#Predicate<Thing> { -($0.rank ?? 0) > 1 })
        refused(#Predicate<Thing> { $0.rank! + 1 > 3 })
        refused(#Predicate<Thing> { ($0.title ?? "").count == 0 })
        refused(#Predicate<Thing> { $0.title!.count > 1 })
        refused(#Predicate<Thing> { $0.rank == 1 ? true : false })
        #expect(throws: ObjectError(.invalidPredicate, "")) {
            let predicate = #Predicate<Thing> { $0.ratio == nan }
            _ = try context.fetch(FetchRequest<Thing>(where: try FetchPredicate(predicate)))
        }
        #expect(throws: ObjectError(.invalidPredicate, "")) {
            try FetchPredicate("rank == %@", UInt64.max)
        }
        #expect(throws: ObjectError(.invalidPredicate, "")) {
            let predicate = try FetchPredicate("ratio IN %@", [Double.nan])
            try context.batchDelete(FetchRequest<Thing>(where: predicate))
        }
    }

    /// Random trees of the same parts.
    @Test(arguments: TestSeed.each(of: 1...40))
    func randomTreesAgree(seed: TestSeed) throws {
        var random = RandomExpressions(seed: seed.value)
        var refused = 0
        for number in 0..<50 {
            let predicate = random.predicate()
            do {
                try form(predicate, "\(seed), tree \(number):")
            } catch let error as ObjectError where error.code == .unsupportedPredicate {
                refused += 1
            }
        }
        #expect(refused < 25, "\(seed): most of the trees are of parts that are understood")
    }
}

extension ManagedObject {
    fileprivate var changedOrStored: String { "\(committedValues ?? [:])" }
}
