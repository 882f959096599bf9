import Varlink

/// A problem that was found, and what to do about it.
struct Finding: Sendable {
    let problem: String
    var hint: String?

    var json: JSONObject { ["finding": .string(problem), "hint": .text(hint)] }
}
