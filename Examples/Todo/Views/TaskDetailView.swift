/// One task, as lines of text. Keeps its values when the task is deleted elsewhere, and says so.
struct TaskDetailView {
    let task: TodoTask
    /// The task is gone.
    var isGone = false
    /// Who deleted it, where that is known.
    var deletedBy: String?
    /// Why it could not be read just now.
    var problem: String?

    var lines: [String] {
        var lines = [
            task.title, "  priority: \(task.priority)",
            "  \(task.isCompleted ? "done" : "to do")", "  memo: \(task.memo ?? "-")",
        ]
        if isGone {
            lines.append("  ! deleted by \(deletedBy ?? "an unknown author"); last known values")
        }
        if let problem { lines.append("  ! \(problem)") }
        return lines
    }
}
