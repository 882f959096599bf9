import Varlink

/// Something that is wrong, and what to do.
struct Finding: Sendable {
    let problem: String
    var hint: String?

    var json: JSONObject { ["finding": .string(problem), "hint": .text(hint)] }
}
