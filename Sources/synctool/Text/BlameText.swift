import SyncClient
import SyncCore
import SyncReplica
import Varlink

/// The values of an object with their transactions, as lines of text or as JSON.
struct BlameText {
    /// Characters of a value that are shown.
    private static let widthMax = 40

    private struct Row {
        let property: String
        /// Nil: not known.
        let value: Value?
        let transaction: Transaction?
    }

    private let object: ObjectName
    private let rows: [Row]
    private let names: KnownNames
    private let times: TimeStyle

    init(_ blamed: BlamedObject, of object: ObjectName, names: KnownNames, times: TimeStyle) {
        (self.object, self.names, self.times) = (object, names, times)
        let known = blamed.object.values.pairs.map { ($0.name, Optional($0.value)) }
        rows = (known + blamed.object.unknown.map { ($0, nil) }).map { name, value in
            Row(property: name, value: value, transaction: blamed.transactions[name])
        }
    }

    /// One line for each property.
    var lines: [String] {
        var table = TextTable(styles: [.strong])
        for row in rows {
            let value = row.value.map { Printable.text($0.description, width: Self.widthMax) }
            guard let transaction = row.transaction else {
                table.add(row.property, value ?? "?", "", "before the history")
                continue
            }
            var writer =
                TransactionText.writer(TransactionHead(transaction)) ?? "author unknown"
            if let origin = transaction.origin {
                writer += "  from \(names.title(of: origin.replica))#\(origin.number)"
            }
            table.add(
                row.property, value ?? "?", "#\(transaction.number)",
                LocalTime.text(transaction.timestamp, as: times), writer)
        }
        return table.lines(on: .output)
    }

    /// One object for each property.
    var json: [[UInt8]] {
        rows.map { row in
            var writer = JSONWriter()
            writer.beginObject()
            writer.name("object")
            writer.write(string: object.path)
            writer.name("property")
            writer.write(string: row.property)
            writer.name("value")
            if let value = row.value { writer.write(value) } else { writer.writeNull() }
            writer.name("isKnown")
            writer.write(bool: row.value != nil)
            writer.name("transaction")
            if let transaction = row.transaction {
                writer.beginObject()
                writer.writeMembers(of: TransactionHead(transaction))
                writer.endObject()
            } else {
                writer.writeNull()
            }
            writer.endObject()
            return writer.bytes
        }
    }
}
