import SyncCore
import Varlink

/// The result of `revert` and `restore`, as lines of text or as JSON.
struct UndoText {
    let path: String
    /// The requested action, in the past tense: `reverted transaction 7`.
    let done: String

    /// - Throws: ``OutputClosed``.
    func print(_ undo: Undo, asJSON isJSON: Bool) throws {
        let report = undo.report
        if isJSON { return try Terminal.output.json(json(undo)) }
        try Terminal.output.line("\(path): " + headline(report))
        for step in report.steps { try Terminal.output.line("  " + line(step)) }
        for refusal in report.refusals { try Terminal.output.line("  " + line(refusal)) }
        let conflicts = ConflictText(names: undo.names)
        for conflict in undo.closed {
            try Terminal.output.line("  ! closes the conflict \(conflicts.line(conflict))")
            try Terminal.output.line(
                "    Both sides: synctool conflicts show \(Shell.quoted(path)) \(conflict.id)")
        }
    }

    private func headline(_ report: UndoReport) -> String {
        let number = report.token.map { " as transaction \($0.number)" } ?? ""
        if report.isComplete { return done + number }
        if !report.steps.isEmpty { return "partly \(done)" + number }
        return report.refusals.isEmpty
            ? "nothing to undo: no tracked object was changed" : "nothing was changed"
    }

    private func line(_ step: UndoReport.Step) -> String {
        let object = Printable.object(step.object.path)
        switch step.kind {
        case .insert: return "+ \(object) restored"
        case .delete: return "- \(object) deleted"
        case .update:
            let names = step.properties.map(Printable.text).joined(separator: ", ")
            return "~ \(object) old value restored: \(names)"
        }
    }

    private func line(_ refusal: UndoReport.Refusal) -> String {
        let names = refusal.properties.map(Printable.text).joined(separator: ", ")
        let what = Printable.object(refusal.object.path) + (names.isEmpty ? "" : " \(names)")
        let blocker = refusal.blockedBy.map { " by transaction \($0)" } ?? ""
        return "! \(what) not changed: "
            + TypedPath(path).fillingIn(Printable.text(refusal.reason)) + blocker
    }

    private func json(_ undo: Undo) -> JSONObject {
        let report = undo.report
        let conflicts = ConflictText(names: undo.names)
        let steps = report.steps.map { step in
            JSONValue.object([
                "kind": .string(step.kind.name), "object": .string(step.object.path),
                "properties": .array(step.properties.map(JSONValue.string)),
            ])
        }
        let refusals = report.refusals.map { refusal in
            JSONValue.object([
                "object": .string(refusal.object.path),
                "properties": .array(refusal.properties.map(JSONValue.string)),
                "reason": .string(refusal.reason),
                "blockedBy": refusal.blockedBy.map(JSONValue.integer) ?? .null,
            ])
        }
        return [
            "token": .text(report.token?.description), "steps": .array(steps),
            "refusals": .array(refusals),
            "closedConflicts": .array(undo.closed.map { .object(conflicts.json($0)) }),
        ]
    }
}
