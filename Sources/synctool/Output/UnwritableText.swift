import SyncReplica

/// A table that other replicas cannot write here, as a line of text.
enum UnwritableText {
    static func line(_ table: UnwritableTable) -> String {
        "\(Printable.text(table.name)): what other replicas write to it cannot be merged here, and "
            + "stops each exchange: \(Printable.text(table.reason)), which only an application has"
    }
}
