/// A set of texts that are compared by their bytes (``ExactText``).
package struct ExactSet: Sendable, Hashable {
    private var storage: Set<ExactText> = []

    /// An empty one.
    package init() {}

    /// The set of some texts.
    package init(_ texts: some Sequence<String>) { storage = Set(texts.map(ExactText.init)) }

    package var isEmpty: Bool { storage.isEmpty }
    package var count: Int { storage.count }

    /// Whether it has a text of these bytes.
    package func contains(_ text: String) -> Bool { storage.contains(ExactText(text)) }

    /// - Returns: whether it was not there before.
    @discardableResult
    package mutating func insert(_ text: String) -> Bool {
        storage.insert(ExactText(text)).inserted
    }

    /// Takes a text out, if it is there.
    package mutating func remove(_ text: String) { storage.remove(ExactText(text)) }

    /// Those that `isIncluded` takes.
    package func filter(_ isIncluded: (String) throws -> Bool) rethrows -> ExactSet {
        var new = ExactSet()
        new.storage = try storage.filter { try isIncluded($0.text) }
        return new
    }
}

extension ExactSet: Sequence {
    package func makeIterator() -> AnyIterator<String> {
        var elements = storage.makeIterator()
        return AnyIterator { elements.next()?.text }
    }
}

extension ExactSet: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: String...) { self.init(elements) }
}
