import SyncClient
import SyncCore
import Varlink

/// Notices of a subscription as a person reads them.
struct NoticeText {
    var terminal = Terminal.output

    func lines(_ notice: Notice) -> [String] {
        switch notice {
        case .transaction(let transaction):
            return TransactionText(terminal: terminal).lines(transaction)
        case .gone(let gone):
            var text = terminal.styled("gone: \(Printable.text(gone.object.path))", .gone)
            text += by(gone.by)
            if let cause = TransactionText.cause(gone.cause) { text += ", \(cause)" }
            guard let kept = gone.tombstone, !kept.pairs.isEmpty else { return [text] }
            return [text, "    kept: " + TransactionText.values(kept)]
        case .changed(let changed):
            var text = terminal.styled("changed: \(Printable.text(changed.object.path))", .changed)
            text += "  " + changed.properties.map(Printable.text).joined(separator: ", ")
            text += by(changed.by)
            guard let old = changed.oldValues else { return [text] }
            return [text, "    before: " + TransactionText.values(old)]
        case .replaced(let replaced):
            return [
                terminal.styled("replaced: \(Printable.text(replaced.object.path))", .added)
                    + " is another object now" + by(replaced.by)
            ]
        default:
            return [terminal.styled(remark(notice), .changed)]
        }
    }

    private func by(_ head: TransactionHead?) -> String {
        guard let head else { return "" }
        let writer = TransactionText.writer(head).map { "by \($0)" } ?? "by somebody"
        return "  \(writer) in #\(head.token.number) at \(LocalTime.text(head.timestamp))"
    }

    private func remark(_ notice: Notice) -> String {
        switch notice {
        case .lagged: "too slow for the queue: going on from history, nothing is lost"
        case .storeReplaced(let path, _, _): "another file is at \(path): read the objects anew"
        case .storeRemoved(let path): "the file \(path) is gone"
        case .storeReturned(let path, _): "the file \(path) is back"
        case .schemaChanged(let entities): "schema changed: " + entities.joined(separator: ", ")
        case .historyPurged(let token): "history before #\(token.number) was deleted"
        case .began(let token): "from #\(token.number)"
        case .transaction, .gone, .changed, .replaced: ""
        }
    }
}

/// Notices as lines of JSON.
enum NoticeLine {
    /// - Parameter store: when set, the line says which store it is about, first.
    static func json(_ notice: Notice, store: String?) -> [UInt8] {
        guard let store else { return notice.json }
        var writer = JSONWriter()
        writer.write(string: store)
        return Array("{\"store\":".utf8) + writer.bytes + [UInt8(ascii: ",")]
            + notice.json.dropFirst()
    }
}
