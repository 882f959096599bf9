import Foundation
import GRDB
import SyncObjects

/// The object that is measured: six properties of four types, and a reference.
final class Item: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @Attribute("note") var note: String?
    @Attribute("priority") var priority: Int?
    @Attribute("done") var done: Bool?
    @Attribute("weight") var weight: Double?
    @Attribute("created") var created: Date?

    static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel([
            EntityDescription(
                "Item", class: Item.self,
                attributes: [
                    AttributeDescription("title"), AttributeDescription("note", optional: true),
                    AttributeDescription("priority", .integer32, default: 0),
                    AttributeDescription("done", .boolean, default: false),
                    AttributeDescription("weight", .double, default: 0.0),
                    AttributeDescription("created", .date, optional: true),
                ], indexes: [["priority"]])
        ])
    }
}

/// The same as a GRDB record with a hand-written `init(row:)`: the fast way that its guide teaches.
struct ItemRecord: FetchableRecord, Identifiable {
    let id: Int64
    let title: String
    let note: String?
    let priority: Int
    let done: Bool
    let weight: Double
    let created: Date?

    init(row: Row) {
        id = row[0]
        title = row[1]
        note = row[2]
        priority = row[3]
        done = row[4]
        weight = row[5]
        created = row[6]
    }
}

/// The values of the n-th item.
struct ItemValues {
    let title: String
    let note: String
    let priority: Int
    let weight: Double
    let created: Date

    init(_ number: Int) {
        title = "item \(number)"
        note = "a note that says something about the item with the number \(number)"
        priority = number % 100
        weight = Double(number) / 3
        created = Date(timeIntervalSince1970: 1_700_000_000 + Double(number))
    }
}
