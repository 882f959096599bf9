import SyncObjects

/// What is on the terminal: a page, and what the last command said. Knows nothing of the terminal,
/// so that tests can read it.
///
/// Pages show values, never objects: whatever is deleted meanwhile, a page is whole.
@MainActor final class Screen {
    enum Page {
        case groups
        case tasks(TodoGroup?)
        case detail(RetainedValue<TodoTask>, TaskObject?)
    }

    private(set) var page = Page.groups
    private(set) var message: String?
    private let sources: TodoSources
    private let container: PersistentContainer?
    private let groups: MockableFetchRequest<TodoSources, TodoGroup>
    private let tasks: MockableFetchRequest<TodoSources, TodoTask>
    private var back: [Page] = []

    /// - Parameter container: nil: the mock objects of `sources`, and nothing can be written.
    init(_ sources: TodoSources, container: PersistentContainer? = nil) throws {
        self.sources = sources
        self.container = container
        groups = MockableFetchRequest(
            \.groups,
            request: FetchRequest("C_Group", sortedBy: [SortKey("title")]))
        // The request of the tasks is given when a group is opened.
        tasks = MockableFetchRequest(\.tasks)
        try groups.connect(to: sources, context: try container?.viewContext)
        try tasks.connect(to: sources, context: try container?.viewContext)
    }

    /// What is to be seen now.
    var lines: [String] {
        let body: [String]
        switch page {
        case .groups: body = GroupListView(groups: shownGroups).lines
        case .tasks(let group):
            body = TaskListView(title: group?.title ?? "All tasks", tasks: shownTasks).lines
        case .detail(let task, let object):
            task.refresh()
            var gone: Gone?
            if case .gone(let detail)? = object?.state { gone = detail }
            body =
                TaskDetailView(
                    task: task.value, isGone: task.isGone, deletedBy: gone?.author,
                    problem: task.readError?.reason
                ).lines
        }
        return body + (message.map { ["", $0] } ?? [])
    }

    private var shownGroups: [TodoGroup] { groups.objects.compactMap(\.wrappedValue) }
    private var shownTasks: [TodoTask] { tasks.objects.compactMap(\.wrappedValue) }

    /// An element whenever something on the page may have changed.
    var changes: AsyncStream<Void> {
        let streams = [groups.changes, tasks.changes]
        let events = (try? container?.viewContext)?.events
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            var followers = streams.map { stream in
                Task { for await _ in stream { continuation.yield() } }
            }
            if let events {
                followers.append(Task { for await _ in events { continuation.yield() } })
            }
            continuation.onTermination = { [followers] _ in
                for follower in followers { follower.cancel() }
            }
        }
    }

    /// Takes a command.
    ///
    /// - Returns: False for the one that ends the program.
    func run(_ line: String) async -> Bool {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        message = nil
        guard let name = words.first else { return true }
        if name == "quit" { return false }
        do {
            try await run(name, argument: words.count > 1 ? words[1] : "")
        } catch let error as ObjectError {
            message = "Not done: \(error.reason)"
        } catch {
            message = "Not done: \(error)"
        }
        return true
    }

    private func run(_ name: String, argument rest: String) async throws {
        switch name {
        case "back": page = back.popLast() ?? .groups
        case "all": try show(nil)
        case "open": try show(try pick(from: shownGroups, numbered: rest))
        case "show": try detail(try pick(from: tasks.objects, numbered: rest))
        case "group": try await actions().createGroup(rest)
        case "ungroup": try await actions().deleteGroup(try pick(from: shownGroups, numbered: rest))
        case "add": try await actions().createTask(rest, in: shownGroup)
        case "done": try await change { $0.isCompleted.toggle() }
        case "title": try await change { $0.title = rest }
        case "priority": try await change { $0.priority = Int(rest) ?? $0.priority }
        case "memo": try await actions().setMemo(rest.isEmpty ? nil : rest, of: try shownTask())
        case "move":
            try await actions().move(
                try shownTask(), to: try pick(from: shownGroups, numbered: rest))
        case "delete": try await actions().delete(try shownTask())
        default:
            message =
                "Commands: open N, all, show N, back, group TITLE, ungroup N, add TITLE, done, "
                + "title TEXT, priority N, memo TEXT, move N, delete, quit"
        }
        // What was saved in the background is taken over before the page is drawn.
        try container?.viewContext.performAndWait {}
    }

    // MARK: Pages

    private func show(_ group: TodoGroup?) throws {
        var request = FetchRequest<ManagedObject>(
            "C_Task",
            sortedBy: [SortKey("priority", ascending: false), SortKey("createDate")])
        if let id = group?.id.objectID {
            request.predicate = try FetchPredicate("group == %@", id)
        }
        if container != nil { try tasks.setRequest(request) }
        back.append(page)
        page = .tasks(group)
    }

    private func detail(_ object: AnyConvertibleValueObservableObject<TodoTask>) throws {
        guard let value = RetainedValue(object) else {
            message = "It was deleted a moment ago"
            return
        }
        back.append(page)
        page = .detail(value, object.object as? TaskObject)
    }

    private var shownGroup: TodoGroup? {
        if case .tasks(let group) = page { return group }
        return nil
    }

    private func shownTask() throws -> TodoTask {
        guard case .detail(let task, _) = page else {
            throw ObjectError(.invalidRequest, "no task is shown: show N")
        }
        return task.value
    }

    private func change(_ body: (inout TodoTask) -> Void) async throws {
        var task = try shownTask()
        body(&task)
        try await actions().update(task)
    }

    private func actions() throws -> TodoActions {
        guard let container else {
            throw ObjectError(.readOnly, "these are mock objects: nothing can be saved")
        }
        return TodoActions(container: container)
    }

    private func pick<Element>(from list: [Element], numbered number: String) throws -> Element {
        guard let place = Int(number), list.indices.contains(place - 1) else {
            throw ObjectError(.invalidRequest, "there is no number \(number) here")
        }
        return list[place - 1]
    }
}
