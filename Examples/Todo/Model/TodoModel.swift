import Foundation
import SyncObjects

/// The model of the articles: groups of tasks, each with a memo.
enum TodoModel {
    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel([
            EntityDescription(
                "C_Group", class: GroupObject.self,
                attributes: [
                    AttributeDescription("title", default: "New Group"),
                    // Counted at each save through this model.
                    .derived("open", .integer64, from: "tasks.@count(completed == NO)"),
                ],
                relationships: [
                    .toMany("tasks", to: "C_Task", inverse: "group", deleteRule: .cascade)
                ]),
            EntityDescription(
                "C_Task", class: TaskObject.self,
                attributes: [
                    AttributeDescription("title", optional: true),
                    AttributeDescription("priority", .integer16, default: 0),
                    AttributeDescription("completed", .boolean, default: false),
                    AttributeDescription("myDay", .boolean, default: false),
                    AttributeDescription("createDate", .date, optional: true),
                ],
                relationships: [
                    .toOne("group", to: "C_Group", inverse: "tasks"),
                    .toOne("memo", to: "C_Memo", inverse: "task", deleteRule: .cascade),
                ]),
            EntityDescription(
                "C_Memo", class: MemoObject.self,
                attributes: [AttributeDescription("content", optional: true)],
                relationships: [.toOne("task", to: "C_Task", inverse: "memo")]),
        ])
    }

    /// The content of a new store, which ships in a bundle.
    static func fill(_ context: ManagedObjectContext) throws {
        for (name, titles) in [("Home", ["Water the plants", "Call Ada"]), ("Work", ["Ship it"])] {
            let group = try GroupObject(context: context)
            group.title = name
            for (number, title) in titles.enumerated() {
                let task = try TaskObject(context: context)
                task.title = title
                task.priority = titles.count - number
                task.createDate = Date()
                task.group = group
            }
        }
    }
}

final class GroupObject: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @Attribute("open") var open: Int?
    @ToMany("tasks") var tasks: [TaskObject]
}

final class TaskObject: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @Attribute("priority") var priority: Int?
    @Attribute("completed") var completed: Bool?
    @Attribute("createDate") var createDate: Date?
    @ToOne("group") var group: GroupObject?
    @ToOne("memo") var memo: MemoObject?
}

final class MemoObject: ManagedObject, @unchecked Sendable {
    @Attribute("content") var content: String?
    @ToOne("task") var task: TaskObject?
}
