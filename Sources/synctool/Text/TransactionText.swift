import SyncClient
import SyncCore
import SyncReplica

/// Transactions as lines of text: one with number, time and writer, then one for each change.
struct TransactionText {
    /// The default of ``changesMax``.
    static let changesShown = 20

    /// The maximum number of changes shown for a transaction; the rest are counted.
    var changesMax = changesShown
    var terminal = Terminal.output
    /// What changes left, by ``Change/seq``, where new values are shown.
    var new: [Int64: NamedValues]?
    /// The names of replicas.
    var names = KnownNames()
    /// How times are shown.
    var times = TimeStyle.absolute

    func lines(_ transaction: Transaction) -> [String] {
        [head(transaction)] + lines(transaction.changes)
    }

    /// Committed changes that have no number yet.
    func lines(_ pending: PendingChanges) -> [String] {
        var parts = [
            terminal.styled("pending", as: .strong),
            terminal.styled(LocalTime.text(pending.timestamp, as: times), as: .faint),
        ]
        if let author = pending.author { parts.append(Printable.text(author)) }
        return [parts.joined(separator: "  ")] + lines(pending.changes)
    }

    private func lines(_ changes: [Change]) -> [String] {
        var lines = changes.prefix(changesMax).map { "    " + line($0) }
        lines += hiddenLine(changes.count - changesMax)
        return lines
    }

    /// The number of changes that are not shown; nothing when all are.
    func hiddenLine(_ count: Int) -> [String] {
        guard count > 0 else { return [] }
        return [
            "    " + terminal.styled("… and \(Plural.text(count, of: "more change"))", as: .faint)
        ]
    }

    func head(_ transaction: Transaction) -> String {
        var parts = [
            terminal.styled("#\(transaction.number)", as: .strong),
            terminal.styled(LocalTime.text(transaction.timestamp, as: times), as: .faint),
        ]
        parts.append(
            Self.writer(TransactionHead(transaction))
                ?? terminal.styled("author unknown", as: .faint))
        if let origin = transaction.origin {
            let title = Printable.text(names.title(of: origin.replica))
            parts.append("from \(title)#\(origin.number)")
        }
        if !transaction.flags.names.isEmpty {
            parts.append("[" + transaction.flags.names.joined(separator: ", ") + "]")
        }
        return parts.joined(separator: "  ")
    }

    /// `importer (nightly), python3[4711]`, as far as the writer signed; nil: unsigned.
    static func writer(_ transaction: TransactionHead) -> String? {
        var text = transaction.author ?? ""
        if let context = transaction.context {
            text += text.isEmpty ? "(\(context))" : " (\(context))"
        }
        if let process = transaction.process {
            text += text.isEmpty ? "" : ", "
            text += (process.name ?? "process") + "[\(process.pid)]"
        }
        return text.isEmpty ? nil : Printable.text(text)
    }

    /// `- Album/348  Title 'Load', ArtistId 50`
    func line(_ change: Change) -> String {
        let (sign, style): (String, Terminal.Style) =
            switch change.kind {
            case .insert: ("+", .added)
            case .update: ("~", .changed)
            case .delete: ("-", .gone)
            }
        var text = terminal.styled("\(sign) \(Printable.object(change.object.path))", as: style)
        if let new = newValues(change) {
            text += "  " + new
        } else if let old = change.oldValues, !old.isEmpty {
            text += "  " + Self.values(old) + terminal.styled("  (before)", as: .faint)
        } else if !change.properties.isEmpty {
            text += "  " + change.properties.map(Printable.text).joined(separator: ", ")
        }
        if let tombstone = change.tombstone, !tombstone.isEmpty {
            text += "  " + Self.values(tombstone)
        }
        if let cause = Self.cause(change.cause) {
            text += terminal.styled("  \(cause)", as: .faint)
        }
        return text
    }

    /// `Title 'Load' -> 'Reload'`, or the values of a new object; nil: they are not shown.
    private func newValues(_ change: Change) -> String? {
        guard let new = self.new else { return nil }
        let values = new[change.seq]
        switch change.kind {
        case .delete: return nil
        case .insert: return values.map(Self.values)
        case .update:
            var parts = change.properties.prefix(Self.valuesMax).map { property in
                Printable.text(property) + " " + Self.value(change.oldValues?[property]) + " -> "
                    + Self.value(values?[property])
            }
            if change.properties.count > Self.valuesMax { parts.append("…") }
            return parts.joined(separator: ", ")
        }
    }

    /// The number of values shown of a change.
    private static let valuesMax = 8

    /// As an SQL literal, shortened; `?` for one that was not kept.
    static func value(_ value: Value?) -> String {
        value.map { Printable.text($0.description, width: 40) } ?? "?"
    }

    /// `Title 'Load', ArtistId 50`: at most eight values as SQL literals, long ones shortened.
    static func values(_ values: NamedValues) -> String {
        var parts = values.pairs.prefix(valuesMax).map { pair in
            Printable.text(pair.name) + " " + Printable.text(pair.value.description, width: 40)
        }
        if values.pairs.count > valuesMax { parts.append("…") }
        parts += values.references.map { reference in
            Printable.text(reference.property)
                + " (\(reference.kind.rawValue), \(ByteCount.text(Int64(reference.bytes))))"
        }
        return parts.joined(separator: ", ")
    }

    /// The cause of an indirect change; nil for a direct one.
    static func cause(_ cause: Change.Cause) -> String? {
        switch cause {
        case .direct: return nil
        case .cascade(let object): return "because \(Printable.object(object.path)) was deleted"
        case .replace: return "by REPLACE"
        case .renumbered(let object): return "renumbered, see \(Printable.object(object.path))"
        case .merge: return "by a merge"
        }
    }
}

extension NamedValues {
    /// No value was kept.
    var isEmpty: Bool { pairs.isEmpty && references.isEmpty }
}
