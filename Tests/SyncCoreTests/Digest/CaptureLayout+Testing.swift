@testable import SyncCore

extension CaptureLayout {
    /// A layout as `track` would make it, with at most one cascading reference.
    static func testing(
        key: [String], columns: [String], kept: [Int], undo: Bool = false,
        cascade: (column: Int, target: String)? = nil
    ) -> CaptureLayout {
        CaptureLayout(
            key: key, columns: columns, kept: kept, undo: undo,
            references: cascade.map {
                [.init(columns: [$0.column], target: $0.target, onDelete: "CASCADE")]
            } ?? [])
    }
}
