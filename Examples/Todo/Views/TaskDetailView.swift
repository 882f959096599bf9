/// One task, as lines of text. Stays what it was when the task is deleted by somebody else, and says
/// so.
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
            lines.append("  ! deleted by \(deletedBy ?? "somebody else"); this is what it was")
        }
        if let problem { lines.append("  ! \(problem)") }
        return lines
    }
}
