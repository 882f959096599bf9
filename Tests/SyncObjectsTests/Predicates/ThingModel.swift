import Foundation
import SyncObjects
import SyncTesting

/// Things in boxes on shelves: every type of attribute, nearly all of them often nil.
enum ThingModel {
    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel([
            EntityDescription(
                "Thing", class: Thing.self,
                attributes: [
                    AttributeDescription("title", optional: true),
                    AttributeDescription("rank", .integer64, optional: true),
                    AttributeDescription("stars", .integer16, optional: true),
                    AttributeDescription("done", .boolean, optional: true),
                    AttributeDescription("ratio", .double, optional: true),
                    AttributeDescription("price", .decimal, optional: true),
                    AttributeDescription("made", .date, optional: true),
                    AttributeDescription("token", .uuid, optional: true),
                    AttributeDescription("blob", .binary, optional: true),
                ],
                relationships: [.toOne("box", to: "Box", inverse: "things")]),
            EntityDescription(
                "Box", class: ThingBox.self,
                attributes: [
                    AttributeDescription("name", optional: true),
                    AttributeDescription("size", .integer64, optional: true),
                ],
                relationships: [
                    .toMany("things", to: "Thing", inverse: "box"),
                    .toOne("shelf", to: "Shelf", inverse: "boxes"),
                    .toMany("lids", to: "Lid", inverse: "box"),
                ]),
            EntityDescription(
                "Shelf", class: ThingShelf.self,
                attributes: [AttributeDescription("name", optional: true)],
                relationships: [.toMany("boxes", to: "Box", inverse: "shelf")]),
            EntityDescription(
                "Lid", class: ThingLid.self,
                attributes: [AttributeDescription("size", .integer64, optional: true)],
                relationships: [.toOne("box", to: "Box", inverse: "lids")]),
        ])
    }

    static let titles = [
        "", "a", "A", "ab", "abc", "a%", "%", "_", "a_c", "é", "É", "x*y", "x?", "it's", "\\",
        "z z",
    ]
    static let dates = [0, 1, 86_400.5, 1e9, 1e9 + 0.25].map { Date(timeIntervalSince1970: $0) }
    static let tokens = ["1", "2", "A"].compactMap {
        UUID(uuidString: "00000000-0000-4000-8000-00000000000\($0)")
    }
    static let prices = ["0", "-1.5", "9.5", "10"].compactMap { Decimal(string: $0) }
    static let blobs = [Data(), Data([0]), Data([0, 1]), Data([255])]

    /// Shelves, boxes with and without lids, and things with every value and with none.
    static func fill(_ context: ManagedObjectContext, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let shelves = try (0..<2).map { _ in try ThingShelf(context: context) }
        shelves[0].name = "top"
        var boxes: [ThingBox] = []
        for number in 0..<5 {
            let box = try ThingBox(context: context)
            box.name = pick(["a", "none", "ab"], &random)
            box.size = pick([0, 1, 3], &random)
            box.shelf = pick(shelves, &random)
            for _ in 0..<(number % 3) {
                let lid = try ThingLid(context: context)
                lid.size = pick([1, 3], &random)
                lid.box = box
            }
            boxes.append(box)
        }
        for number in 0..<40 {
            let thing = try Thing(context: context)
            thing.title = number < titles.count ? titles[number] : pick(titles, &random)
            thing.rank = pick([-7, -1, 0, 1, 3, 4, 5, 7], &random)
            thing.stars = pick([-1, 0, 1, 3], &random)
            thing.done = pick([true, false], &random)
            thing.ratio = pick([-0.5, 0, 0.1, 3, .infinity], &random)
            thing.price = pick(prices, &random)
            thing.made = pick(dates, &random)
            thing.token = pick(tokens, &random)
            thing.blob = pick(blobs, &random)
            thing.box = pick(boxes, &random)
        }
        try context.save()
    }

    private static func pick<T>(_ values: [T], _ random: inout SeededRandom) -> T? {
        random.next() % 3 == 0 ? nil : values.randomElement(using: &random)
    }
}

final class Thing: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @Attribute("rank") var rank: Int?
    @Attribute("stars") var stars: Int?
    @Attribute("done") var done: Bool?
    @Attribute("ratio") var ratio: Double?
    @Attribute("price") var price: Decimal?
    @Attribute("made") var made: Date?
    @Attribute("token") var token: UUID?
    @Attribute("blob") var blob: Data?
    @ToOne("box") var box: ThingBox?

    var isOpen: Bool { !(done ?? false) }
    var label: String { (title ?? "") + "!" }
    var name: String? { title ?? "none" }
    var trimmed: String? { title.map { String($0.prefix(100)) } }
    var next: Int? { rank.map { $0 + 1 } }
    var capped: Int? { rank.map { min($0, 1000) } }
    var either: Int? { rank ?? stars }
    var last: Int? {
        _ = rank
        return stars
    }
    var nothing: Int? { nil }
    var boxName: String? { box?.name }
    /// Asks for a name itself.
    var sorted: String? { (try? SortKey(\Thing.title))?.path.first }
}

final class ThingBox: ManagedObject, @unchecked Sendable {
    @Attribute("name") var name: String?
    @Attribute("size") var size: Int?
    @ToMany("things") var things: [Thing]
    @ToMany("lids") var lids: [ThingLid]
    @ToOne("shelf") var shelf: ThingShelf?

    var full: Bool { (size ?? 0) > 2 }
    var many: [Thing] { things.filter { $0.rank == 1 } }
}

final class ThingShelf: ManagedObject, @unchecked Sendable {
    @Attribute("name") var name: String?
    @ToMany("boxes") var boxes: [ThingBox]
}

final class ThingLid: ManagedObject, @unchecked Sendable {
    @Attribute("size") var size: Int?
    @ToOne("box") var box: ThingBox?
}
