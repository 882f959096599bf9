import SyncCore

extension UnrecordedTable {
    /// The table, why it cannot be recorded, and what to do.
    var text: String {
        "\(Printable.text(name)): \(reason.explanation)" + (remedy.map { "; \($0)" } ?? "")
    }
}
