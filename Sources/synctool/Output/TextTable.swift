/// Rows of text in aligned columns. Control characters are shown as escapes.
struct TextTable {
    private var rows: [[String]] = []
    private let styles: [Terminal.Style]

    /// - Parameter styles: of the columns; those without one are plain.
    init(styles: [Terminal.Style] = []) { self.styles = styles }

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ row: String...) { rows.append(row.map(Printable.text)) }

    /// The lines, the last column of each without padding.
    func lines(on terminal: Terminal, indent: String = "") -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            var last = row.count - 1
            while last >= 0, row[last].isEmpty { last -= 1 }
            return indent
                + row.indices.filter { $0 <= last }.map { column in
                    let padding = column == last ? 0 : widths[column] - row[column].count
                    let style = column < styles.count ? styles[column] : .plain
                    return terminal.styled(row[column], as: style)
                        + String(repeating: " ", count: padding)
                }.joined(separator: "  ")
        }
    }
}
