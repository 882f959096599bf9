import Foundation
import SyncObjects

/// The model of the Todo articles: groups of tasks, each with a memo.
enum TodoModel {
    static func entities(
        groupRule: DeleteRule = .cascade, ordered: Bool = false
    ) -> [EntityDescription] {
        [
            EntityDescription(
                "C_Group",
                attributes: [AttributeDescription("title", default: "New Group")],
                relationships: [
                    .toMany(
                        "tasks", "C_Task", inverse: "group", ordered: ordered, deleteRule: groupRule
                    )
                ]),
            EntityDescription(
                "C_Task",
                attributes: [
                    AttributeDescription("title", optional: true),
                    AttributeDescription("priority", .integer16, default: 0),
                    AttributeDescription("completed", .boolean, default: false),
                    AttributeDescription("myDay", .boolean, default: false),
                    AttributeDescription("createDate", .date, optional: true),
                ],
                relationships: [
                    .toOne("group", "C_Group", inverse: "tasks"),
                    .toOne("memo", "C_Memo", inverse: "task", deleteRule: .cascade),
                ], indexes: [["priority"]]),
            EntityDescription(
                "C_Memo", attributes: [AttributeDescription("content", optional: true)],
                relationships: [.toOne("task", "C_Task", inverse: "memo")]),
        ]
    }

    static func make(groupRule: DeleteRule = .cascade, ordered: Bool = false) throws
        -> ManagedObjectModel
    {
        try ManagedObjectModel(entities(groupRule: groupRule, ordered: ordered))
    }
}
