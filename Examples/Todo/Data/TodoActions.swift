import Foundation
import SyncObjects

/// What can be done with tasks. Everything is named by values, looked up again before it is changed,
/// and either done or refused with the reason: nothing is inserted by an update, and nothing half
/// saved.
struct TodoActions: Sendable {
    let container: PersistentContainer

    private func perform<Output: Sendable>(
        _ body: @escaping @Sendable (ManagedObjectContext) throws -> Output
    ) async throws -> Output {
        let context = try container.newBackgroundContext(author: "todo")
        return try await context.perform { try body(context) }
    }

    func createGroup(_ title: String) async throws {
        try await perform { context in
            try GroupObject(context: context).title = title
            try context.save()
        }
    }

    func deleteGroup(_ group: TodoGroup) async throws {
        try await perform { try $0.delete(GroupObject.self, id: group.id) }
    }

    /// - Throws: `noSuchObject` when the group is gone: then no task is made.
    func createTask(_ title: String, in group: TodoGroup?) async throws {
        try await perform { context in
            let owner = try group.map { try context.confirmed(GroupObject.self, id: $0.id) }
            let task = try TaskObject(context: context)
            task.title = title
            task.createDate = Date()
            task.group = owner
            try context.save()
        }
    }

    func update(_ task: TodoTask) async throws {
        try await perform { context in
            try context.update(TaskObject.self, id: task.id) {
                $0.title = task.title
                $0.priority = task.priority
                $0.completed = task.isCompleted
            }
        }
    }

    func delete(_ task: TodoTask) async throws {
        try await perform { try $0.delete(TaskObject.self, id: task.id) }
    }

    /// - Throws: `noSuchObject` when either end is gone; then nothing moves.
    func move(_ task: TodoTask, to group: TodoGroup) async throws {
        try await perform { context in
            let owner = try context.confirmed(GroupObject.self, id: group.id)
            try context.update(TaskObject.self, id: task.id) { $0.group = owner }
        }
    }

    /// Puts another memo in the place of a task's; nil removes it.
    func setMemo(_ text: String?, of task: TodoTask) async throws {
        try await perform { context in
            let object = try context.confirmed(TaskObject.self, id: task.id)
            if let former = object.memo { try context.delete(former) }
            if let text {
                let memo = try MemoObject(context: context)
                memo.content = text
                object.memo = memo
            }
            try context.save()
        }
    }

    /// How many tasks are there: now, and after each change of anybody.
    func taskCounts() throws -> AsyncStream<Int> {
        try container.viewContext.counts(of: FetchRequest<TaskObject>())
    }
}
