/// The members of a JSON object, in the order in which they were written.
///
/// Names are unique: setting an existing name replaces its value in place. Two objects are
/// equal when they have the same members, in any order.
public struct JSONObject: Sendable {
    /// One name with its value.
    public struct Member: Sendable, Hashable {
        /// The member's name.
        public var name: String
        /// The member's value.
        public var value: JSONValue

        /// Makes a member.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// All members in order.
    public private(set) var members: [Member]

    /// An object without members.
    public init() {
        members = []
    }

    /// Makes an object of members whose names are known to be unique, as in the parser.
    init(members: [Member]) {
        self.members = members
    }

    /// How many members there are.
    public var count: Int { members.count }

    /// Whether there is no member.
    public var isEmpty: Bool { members.isEmpty }

    /// The value of `name`; nil when there is no such member. Setting nil removes the member.
    ///
    /// - Complexity: O(members): protocol messages have few; turn large maps into a dictionary.
    public subscript(name: String) -> JSONValue? {
        get {
            for member in members where member.name == name { return member.value }
            return nil
        }
        set {
            let index = members.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }
}

extension JSONObject: Hashable {
    /// Equality of the members, whatever their order.
    ///
    /// - Complexity: O(members).
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        if left.members.count != right.members.count { return false }
        if left.members == right.members { return true }
        return left.dictionary == right.dictionary
    }

    /// Feeds the members to `hasher` in a way that their order does not matter.
    public func hash(into hasher: inout Hasher) {
        var combined = 0
        for member in members { combined ^= member.hashValue }
        hasher.combine(combined)
    }

    private var dictionary: [String: JSONValue] {
        Dictionary(members.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// An object with the literal's members; of two with one name the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init()
        for (name, value) in elements { self[name] = value }
    }
}

extension JSONObject: CustomStringConvertible {
    /// The object as compact JSON text.
    public var description: String { JSONValue.object(self).description }
}
