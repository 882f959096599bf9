/// Records which properties are read, and returns one value for each. Confined to one read of one
/// key path.
final class NameProbe {
    /// One read of a property.
    struct Read {
        let name: String
        /// The key path that the accessor of a property wrapper was given.
        let wrapped: AnyKeyPath?
    }

    private(set) var reads: [Read] = []
    private var wrapped: AnyKeyPath?
    private var answer: (any Sendable)?

    /// Forgets the reads, and returns `sample` from now on.
    func begin(answering sample: (any Sendable)?) {
        reads = []
        wrapped = nil
        answer = sample
    }

    /// An accessor is about to read.
    func note(_ keyPath: AnyKeyPath) { wrapped = keyPath }

    func read(_ name: String) -> (any Sendable)? {
        reads.append(Read(name: name, wrapped: wrapped))
        wrapped = nil
        return answer
    }
}
