/// The tasks of a group, as lines of text.
struct TaskListView {
    let title: String
    let tasks: [TodoTask]

    var lines: [String] {
        [title]
            + (tasks.isEmpty
                ? ["  nothing to do"]
                : tasks.enumerated().map { place, task in
                    let mark = task.isCompleted ? "x" : " "
                    let memo = task.memo == nil ? "" : " +"
                    return "  \(place + 1). [\(mark)] \(task.title)\(memo)"
                })
    }
}
