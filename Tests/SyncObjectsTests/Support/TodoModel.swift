import Foundation
import SyncObjects
import SyncTesting

/// The model of the Todo articles: groups of tasks, each with a memo.
enum TodoModel {
    static func entities(
        groupRule: DeleteRule = .cascade, ordered: Bool = false
    ) -> [EntityDescription] {
        [
            EntityDescription(
                "C_Group", class: TodoGroup.self,
                attributes: [AttributeDescription("title", default: "New Group")],
                relationships: [
                    .toMany(
                        "tasks", to: "C_Task", inverse: "group", ordered: ordered,
                        deleteRule: groupRule
                    )
                ]),
            EntityDescription(
                "C_Task", class: TodoTask.self,
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
                ], indexes: [["priority"]]),
            EntityDescription(
                "C_Memo", class: TodoMemo.self,
                attributes: [AttributeDescription("content", optional: true)],
                relationships: [.toOne("task", to: "C_Task", inverse: "memo")]),
        ]
    }

    static func make(groupRule: DeleteRule = .cascade, ordered: Bool = false) throws
        -> ManagedObjectModel
    {
        try ManagedObjectModel(entities(groupRule: groupRule, ordered: ordered))
    }
}

final class TodoGroup: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @ToMany("tasks") var tasks: [TodoTask]
}

final class TodoTask: ManagedObject, @unchecked Sendable {
    @Attribute("title") var title: String?
    @Attribute("priority") var priority: Int?
    @Attribute("completed") var completed: Bool?
    @Attribute("createDate") var createDate: Date?
    @ToOne("group") var group: TodoGroup?
    @ToOne("memo") var memo: TodoMemo?
}

final class TodoMemo: ManagedObject, @unchecked Sendable {
    @Attribute("content") var content: String?
    @ToOne("task") var task: TodoTask?
}

extension TemporaryFolder {
    func file(_ name: String) -> URL { url.appendingPathComponent(name) }

    func container(
        _ name: String = "store.sqlite", _ model: ManagedObjectModel? = nil
    ) throws -> PersistentContainer {
        let container = PersistentContainer(
            name: name, model: try model ?? TodoModel.make(),
            description: StoreDescription(.file(file(name))))
        try container.load()
        return container
    }
}
