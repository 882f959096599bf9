import Foundation
import SyncObjects

/// A group as views see it: a copy that no deletion can take away.
struct TodoGroup: BaseValueProtocol {
    let id: WrappedID
    var title: String
    var openTasks: Int
}

/// A task as views see it.
struct TodoTask: BaseValueProtocol {
    let id: WrappedID
    var title: String
    var priority: Int
    var isCompleted: Bool
    var memo: String?
}

extension GroupObject: ConvertibleValueObservableObject {
    func convertToValueType() -> TodoGroup? {
        snapshot { TodoGroup(id: $0.id, title: $0.title ?? "", openTasks: $0.open ?? 0) }
    }
}

extension TaskObject: ConvertibleValueObservableObject {
    func convertToValueType() -> TodoTask? {
        snapshot {
            TodoTask(
                id: $0.id, title: $0.title ?? "", priority: $0.priority ?? 0,
                isCompleted: $0.completed ?? false, memo: $0.memo?.content)
        }
    }
}
