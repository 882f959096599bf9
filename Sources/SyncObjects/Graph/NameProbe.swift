/// Notes which properties an object was asked for, and answers each with one value. Confined to one
/// reading of one key path.
final class NameProbe {
    /// One question.
    struct Read {
        let name: String
        /// The key path by which the accessor of a property wrapper knows itself.
        let wrapped: AnyKeyPath?
    }

    private(set) var reads: [Read] = []
    private var wrapped: AnyKeyPath?
    private var answer: (any Sendable)?

    /// Forgets what was asked, and answers with `sample` from now on.
    func begin(answering sample: (any Sendable)?) {
        reads = []
        wrapped = nil
        answer = sample
    }

    /// An accessor is about to ask.
    func note(_ keyPath: AnyKeyPath) { wrapped = keyPath }

    func read(_ name: String) -> (any Sendable)? {
        reads.append(Read(name: name, wrapped: wrapped))
        wrapped = nil
        return answer
    }
}
