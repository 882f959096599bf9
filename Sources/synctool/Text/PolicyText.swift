import SyncReplica
import Varlink

/// Merge policies as lines of text, or as JSON.
enum PolicyText {
    static func lines(_ policies: MergePolicies, names: KnownNames) -> [String] {
        if policies.entities.isEmpty { return ["all tables use the default policies"] }
        var table = TextTable(styles: [.strong])
        for (name, policy) in policies.entities.sorted(by: { $0.key < $1.key }) {
            for (what, choice) in rows(policy) {
                table.add(name + what, Printable.text(names.naming(choice)), "")
            }
        }
        return table.lines(on: .output)
    }

    private static func rows(_ policy: MergePolicies.EntityPolicy) -> [(String, String)] {
        var rows: [(String, String)] = []
        if let identity = policy.identity { rows.append(("", "identity \(identity)")) }
        if let properties = policy.properties { rows.append(("", "\(properties)")) }
        if let deletes = policy.deletes { rows.append(("", "\(deletes)")) }
        if let unique = policy.unique { rows.append(("", "unique \(unique)")) }
        for (column, property) in (policy.columns ?? [:]).sorted(by: { $0.key < $1.key }) {
            rows.append((".\(column)", "\(property)"))
        }
        for (column, target) in (policy.references ?? [:]).sorted(by: { $0.key < $1.key }) {
            rows.append((".\(column)", "refers to \(target)"))
        }
        return rows
    }

    static func json(_ policies: MergePolicies) -> JSONObject {
        var entities = JSONObject()
        for (name, policy) in policies.entities.sorted(by: { $0.key < $1.key }) {
            var columns = JSONObject()
            for (column, property) in (policy.columns ?? [:]).sorted(by: { $0.key < $1.key }) {
                columns[column] = .string("\(property)")
            }
            var references = JSONObject()
            for (column, target) in (policy.references ?? [:]).sorted(by: { $0.key < $1.key }) {
                references[column] = .string(target)
            }
            entities[name] = .object([
                "identity": .text(policy.identity?.rawValue),
                "properties": .text(policy.properties?.description),
                "deletes": .text(policy.deletes?.rawValue),
                "unique": .text(policy.unique?.rawValue), "columns": .object(columns),
                "references": .object(references),
            ])
        }
        return ["revision": .integer(Int64(policies.revision)), "entities": .object(entities)]
    }
}
