/// Values by texts that are compared by their bytes (``ExactText``): by paths, and by names that
/// come from outside of the program.
///
/// A dictionary whose keys are written and read as strings. The order of its elements is none.
package struct ExactMap<Value> {
    private var storage: [ExactText: Value] = [:]

    /// An empty one.
    package init() {}

    /// - Parameter combine: which of two values of one text stays.
    package init(
        _ pairs: some Sequence<(String, Value)>, uniquingKeysWith combine: (Value, Value) -> Value
    ) {
        storage = Dictionary(pairs.map { (ExactText($0), $1) }, uniquingKeysWith: combine)
    }

    private init(_ storage: [ExactText: Value]) { self.storage = storage }

    /// The value of a text; nil when there is none, and to remove it.
    package subscript(text: String) -> Value? {
        get { storage[ExactText(text)] }
        _modify { yield &storage[ExactText(text)] }
    }

    /// The value of a text; a change begins with the default where there is none.
    package subscript(
        text: String, default value: @autoclosure () -> Value
    ) -> Value {
        get { storage[ExactText(text)] ?? value() }
        _modify { yield &storage[ExactText(text), default: value()] }
    }

    /// All texts, in no particular order.
    package var keys: [String] { storage.keys.map(\.text) }

    /// All values, in no particular order.
    package var values: Dictionary<ExactText, Value>.Values { storage.values }

    package var isEmpty: Bool { storage.isEmpty }
    package var count: Int { storage.count }

    /// Removes the value of a text.
    /// - Returns: it; nil when there was none.
    @discardableResult
    package mutating func removeValue(forKey text: String) -> Value? {
        storage.removeValue(forKey: ExactText(text))
    }

    /// Those elements that `isIncluded` takes.
    package func filter(
        _ isIncluded: ((key: String, value: Value)) throws -> Bool
    ) rethrows -> ExactMap {
        ExactMap(try storage.filter { try isIncluded((key: $0.key.text, value: $0.value)) })
    }

    /// Other values by the same texts.
    package func mapValues<Other>(
        _ transform: (Value) throws -> Other
    ) rethrows -> ExactMap<Other> {
        ExactMap<Other>(try storage.mapValues(transform))
    }
}

extension ExactMap: Sequence {
    package func makeIterator() -> AnyIterator<(key: String, value: Value)> {
        var elements = storage.makeIterator()
        return AnyIterator {
            elements.next().map { (key: $0.key.text, value: $0.value) }
        }
    }
}

extension ExactMap: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, Value)...) {
        self.init(elements) { _, last in last }
    }
}

/// An object with the texts as keys; a list of keys and values where two keys are one key of an
/// object for readers that compare them as Swift does. Either is read.
extension ExactMap: Codable where Value: Codable {
    private struct Coded: Codable {
        var key: String
        var value: Value
    }

    package init(from decoder: any Decoder) throws {
        if let object = try? [String: Value](from: decoder) {
            self.init(object.map { ($0.key, $0.value) }) { first, _ in first }
        } else {
            let list = try [Coded](from: decoder)
            self.init(list.map { ($0.key, $0.value) }) { first, _ in first }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        let object = Dictionary(storage.map { ($0.key.text, $0.value) }) { first, _ in first }
        if object.count == storage.count { return try object.encode(to: encoder) }
        let list = storage.sorted { $0.key < $1.key }
        try list.map { Coded(key: $0.key.text, value: $0.value) }.encode(to: encoder)
    }
}

extension ExactMap: Sendable where Value: Sendable {}
extension ExactMap: Equatable where Value: Equatable {}
