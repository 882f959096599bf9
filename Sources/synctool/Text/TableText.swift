import SyncClient

/// The outcome of tracking each table, as lines of text.
enum TableText {
    static func lines(_ tables: [TableSummary], indent: String = "  ") -> [String] {
        let width = tables.map(\.name.count).max() ?? 0
        return tables.flatMap { table -> [String] in
            let padding = String(repeating: " ", count: width - table.name.count)
            let style: Terminal.Style = table.isTracked ? .plain : .changed
            var line = indent + Printable.text(table.name) + padding + "  "
            line += Terminal.output.styled(table.outcome, as: style)
            if let reason = table.reason { line += ": " + Printable.text(reason) }
            guard let hint = table.hint else { return [line] }
            return [line, indent + String(repeating: " ", count: width + 2) + hint]
        }
    }
}
