/// The calls whose replies are due, oldest first: replies come in the order of the calls.
struct PendingCalls {
    typealias Callback = @Sendable (Result<ReplyMessage, any Error>) -> Void

    struct Call {
        let callback: Callback
        let more: Bool
    }

    // Taken calls stay until half of the array is taken: no move for each reply.
    private var calls: [Call] = []
    private var taken = 0

    var isEmpty: Bool { taken == calls.count }

    var first: Call? { isEmpty ? nil : calls[taken] }

    mutating func append(_ call: Call) {
        calls.append(call)
    }

    mutating func removeFirst() {
        precondition(!isEmpty, "a reply belongs to a call")
        taken += 1
        if taken == calls.count || taken >= 64 && taken * 2 >= calls.count {
            calls.removeFirst(taken)
            taken = 0
        }
    }

    mutating func removeAll() -> [Call] {
        defer {
            calls = []
            taken = 0
        }
        return Array(calls[taken...])
    }
}
