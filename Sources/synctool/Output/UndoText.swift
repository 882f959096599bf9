import SyncCore
import Varlink

/// What undoing did, for a person or as JSON lines.
struct UndoText {
    let path: String
    /// What was asked for, in the past tense: `reverted 7`.
    let done: String

    func print(_ report: UndoReport, _ common: CommonOptions) throws {
        if common.json {
            try Terminal.output.json(json(report))
            return
        }
        try Terminal.output.line("\(path): " + headline(report))
        for step in report.steps { try Terminal.output.line("  " + line(step)) }
        for refusal in report.refusals { try Terminal.output.line("  " + line(refusal)) }
    }

    private func headline(_ report: UndoReport) -> String {
        let number = report.token.map { ", transaction \($0.number)" } ?? ""
        if report.isComplete { return done + number }
        if !report.steps.isEmpty { return "\(done) in part" + number }
        return report.refusals.isEmpty
            ? "nothing to do: the transaction changed no object here" : "nothing could be done"
    }

    private func line(_ step: UndoReport.Step) -> String {
        let object = Printable.text(step.object.path)
        switch step.kind {
        case .insert: return "+ \(object) is back"
        case .delete: return "- \(object) is gone again"
        case .update:
            let names = step.properties.map(Printable.text).joined(separator: ", ")
            return "~ \(object) has its old \(names)"
        }
    }

    private func line(_ refusal: UndoReport.Refusal) -> String {
        let names = refusal.properties.map(Printable.text).joined(separator: ", ")
        let what = Printable.text(refusal.object.path) + (names.isEmpty ? "" : " \(names)")
        let blocker = refusal.blockedBy.map { " by transaction \($0)" } ?? ""
        return "! \(what) stays as it is: \(refusal.reason)\(blocker)"
    }

    private func json(_ report: UndoReport) -> JSONObject {
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
        ]
    }
}
