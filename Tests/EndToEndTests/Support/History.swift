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
    let changes: [Change]

    init?(line: some StringProtocol) {
        guard let value = try? JSONParser.parse(String(line)), let number = value["number"]?.integer
        else { return nil }
        self.number = number
        token = value["token"]?.string ?? ""
        author = value["author"]?.string
        flags = value["flags"]?.array?.compactMap(\.string) ?? []
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
        text.split(separator: "\n").compactMap { Recorded(line: $0) }
    }
}
