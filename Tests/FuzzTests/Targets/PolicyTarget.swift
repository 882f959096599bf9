import SyncTesting

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// The policies of merging, as text: what a file or a batch has, and what is set.
enum PolicyTarget {
    private static let store = Result {
        let path = FuzzFolder.file("policy.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(SampleSchema.sql)
        connection.close()
        try Store.track(path)
        return try FuzzFile(path)
    }

    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        let isMade = choices.flag()
        let json = isMade ? made(&choices) : String(decoding: choices.rest, as: UTF8.self)
        guard let policies = try refusing("policies", { try MergePolicies(json: json) }) else {
            return
        }
        let again = try MergePolicies(json: policies.json())
        try require(again == policies, "policies do not read the same")
        try refusing("order") { try policies.shouldReplace(MergePolicies()) }
        guard isMade else { return }
        let file = try store.get()
        try file.restore()
        try refusing("set") {
            let replica = try StoreReplica(file.path)
            defer { try? replica.close() }
            try replica.setPolicies(policies)
            _ = try replica.batches(since: .init())
        }
    }

    /// Policies whose words are right and whose combination may not be.
    static func made(_ choices: inout FuzzChoices) -> String {
        var entities: [String] = []
        var seen: Set<String> = []
        while !choices.isAtEnd, entities.count < 4 {
            let name = choices.pick(["note", "item", "tag", "NOTE", "absent", "a\\\"b"]) ?? ""
            guard seen.insert(name).inserted else { continue }
            var parts: [String] = []
            func part(_ name: String, _ words: [String]) {
                guard choices.flag(), let word = choices.pick(words) else { return }
                parts.append("\"\(name)\":\"\(word)\"")
            }
            part("identity", ["number", "key", "other"])
            part("deletes", ["deleteWins", "editWins", ""])
            part("unique", ["merge", "keepBoth", "x"])
            part("properties", ["lastWriter", "object"])
            if choices.flag() {
                let column = choices.pick(["text", "note", "id", "num", "none"]) ?? ""
                let target = choices.pick(["note", "item", "tag", "none"]) ?? ""
                parts.append("\"references\":{\"\(column)\":\"\(target)\"}")
            }
            if choices.flag() {
                let column = choices.pick(["text", "num", "id", "body", "none"]) ?? ""
                let policy = choices.pick(words) ?? ""
                parts.append("\"columns\":{\"\(column)\":\"\(policy)\"}")
            }
            entities.append("\"\(name)\":{\(parts.joined(separator: ","))}")
        }
        let revision = choices.flag() ? ",\"revision\":\(choices.number())" : ""
        return "{\"entities\":{\(entities.joined(separator: ","))}\(revision)}"
    }

    private static let words = [
        "lastWriter", "firstWriter", "counter", "set", "text", "preferring",
        "preferring 00000000000000000000000000000001", "other",
    ]
}
