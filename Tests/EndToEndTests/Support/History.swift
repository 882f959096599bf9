import Foundation
import Testing
import Varlink

/// Lines of `history --json`, or of a client that follows: what the tests compare.
struct Recorded: Equatable, CustomStringConvertible {
    struct Change: Hashable {
        let object: String
        let kind: String
        let properties: [String]
        let tombstone: JSONValue?
    }

    let number: Int64
    let token: String
    let author: String?
    let flags: [String]
    private(set) var changes: [Change]
    /// Of a part: its place, and whether it is the last one.
    private let part: (index: Int64, isLast: Bool)?

    static func == (left: Self, right: Self) -> Bool {
        left.number == right.number && left.token == right.token && left.author == right.author
            && left.flags == right.flags && left.changes == right.changes
    }

    init?(line: some StringProtocol) {
        guard let value = try? JSONParser.parse(String(line)), let number = value["number"]?.integer
        else { return nil }
        self.number = number
        token = value["token"]?.string ?? ""
        author = value["author"]?.string
        flags = value["flags"]?.array?.compactMap(\.string) ?? []
        part = value["part"].flatMap { part in
            part["index"]?.integer.map { ($0, part["isLast"]?.bool ?? false) }
        }
        changes = (value["changes"]?.array ?? []).map { change in
            Change(
                object: change["object"]?.string ?? "", kind: change["kind"]?.string ?? "",
                properties: change["properties"]?.array?.compactMap(\.string) ?? [],
                tombstone: change["tombstone"].flatMap { $0.isNull ? .none : .some($0) })
        }
    }

    var description: String { "#\(number) \(changes.map { "\($0.kind) \($0.object)" })" }

    /// All transactions of a text with one JSON object a line; other objects are left out.
    static func all(_ text: String) -> [Recorded] {
        var open: Recorded?
        return all(text, goingOn: &open)
    }

    /// The same of a piece of a text; parts are joined.
    ///
    /// - Parameter open: the transaction of which not all parts have come.
    static func all(_ text: String, goingOn open: inout Recorded?) -> [Recorded] {
        text.split(separator: "\n").compactMap { line in
            guard let next = Recorded(line: line) else { return nil }
            guard let part = next.part else {
                open = nil
                return next
            }
            // A client that was killed gets it again from its beginning.
            if part.index == 0 { open = next } else { open?.changes += next.changes }
            guard part.isLast else { return nil }
            defer { open = nil }
            return open
        }
    }
}
