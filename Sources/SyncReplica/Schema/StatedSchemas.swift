import SyncMerge
import SyncStorage
import SyncValues

extension Batch {
    /// The schemas that a batch states: those of its section; of a batch of version 1, the tables
    /// and indexes of its sender.
    package var statedSchemas: [SchemaRecord] {
        guard schemas.isEmpty, !extras.schema.isEmpty else { return schemas }
        let time = transactions.map(\.header.time.milliseconds).max() ?? 0
        let objects = extras.schema.compactMap(SchemaObject.init(statement:))
        return [
            SchemaRecord(
                Dot(sender, upTo[sender]), revision: 0, time: time, content: SchemaContent(objects))
        ]
    }
}

extension SchemaObject {
    /// A tracked table, or an index, by its statement; nil for any other statement.
    fileprivate init?(statement sql: String) {
        let tokens = SQLTokens(sql).tokens
        guard tokens.count > 3, tokens[0].isWord("CREATE") else { return nil }
        func name(at place: Int) -> String? {
            tokens.indices.contains(place) ? SQLName.unquoted(tokens[place].text) : nil
        }
        if tokens[1].isWord("TABLE"), let table = name(at: 2) {
            self.init(.table, name: table, sql: sql, isTracked: true)
            return
        }
        let place = tokens[1].isWord("UNIQUE") ? 3 : 2
        guard tokens[place - 1].isWord("INDEX"), let index = name(at: place),
            let table = name(at: place + 2), tokens[place + 1].isWord("ON")
        else { return nil }
        self.init(.index, name: index, table: table, sql: sql)
    }
}
