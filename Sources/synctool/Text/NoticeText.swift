import SyncClient
import SyncCore
import Varlink

/// Notices of a subscription as lines of text.
struct NoticeText {
    var terminal = Terminal.output

    func lines(_ notice: Notice) -> [String] {
        switch notice {
        case .transaction(let transaction):
            return TransactionText(terminal: terminal).lines(transaction)
        case .gone(let gone):
            var text = terminal.styled("gone: \(Printable.object(gone.object.path))", as: .gone)
            text += by(gone.by)
            if let cause = TransactionText.cause(gone.cause) { text += ", \(cause)" }
            guard let kept = gone.tombstone, !kept.isEmpty else { return [text] }
            return [text, "    kept: " + TransactionText.values(kept)]
        case .changed(let changed):
            var text = terminal.styled(
                "changed: \(Printable.object(changed.object.path))", as: .changed)
            text += "  " + changed.properties.map(Printable.text).joined(separator: ", ")
            text += by(changed.by)
            guard let old = changed.oldValues else { return [text] }
            return [text, "    before: " + TransactionText.values(old)]
        case .replaced(let replaced):
            return [
                terminal.styled("replaced: \(Printable.object(replaced.object.path))", as: .added)
                    + " is now a different object" + by(replaced.by)
            ]
        default:
            return [terminal.styled(remark(on: notice), as: .changed)]
        }
    }

    private func by(_ head: TransactionHead?) -> String {
        guard let head else { return "" }
        let writer = TransactionText.writer(head).map { "by \($0)" } ?? "by an unknown author"
        return "  \(writer) in #\(head.token.number) at \(LocalTime.text(head.timestamp))"
    }

    private func remark(on notice: Notice) -> String {
        switch notice {
        case .lagged: "the queue overflowed: continuing from the history, nothing was lost"
        case .storeReplaced(let path, _, _): "the file \(path) was replaced: read all objects again"
        case .storeRemoved(let path, nil): "the file \(path) was removed"
        case .storeRemoved(let path, let reason?):
            "the file \(path) cannot be opened any more: \(reason)"
        case .storeReturned(let path, _): "the file \(path) is back"
        case .schemaChanged(let entities): "schema changed: " + entities.joined(separator: ", ")
        case .historyPurged(let token): "the history before #\(token.number) was purged"
        case .began(let token): "watching from #\(token.number)"
        case .transaction, .gone, .changed, .replaced: ""
        }
    }
}
