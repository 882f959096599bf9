import SyncValues

/// What a column of a STRICT table stores.
package enum StoredType: Sendable, Hashable {
    case integer, real, text, blob

    /// Whether SQLite stores a value, as it is or converted without loss.
    package func accepts(_ value: Value) -> Bool {
        switch (self, value) {
        case (_, .null), (.integer, .integer), (.real, .integer), (.real, .real), (.blob, .blob),
            (.text, .integer), (.text, .real), (.text, .text):
            return true
        case (.integer, .real(let number)): return Int64(exactly: number) != nil
        case (.integer, .text(let text)):
            return Int64(text) != nil || Double(text).flatMap(Int64.init(exactly:)) != nil
        case (.real, .text(let text)): return Double(text) != nil
        default: return false
        }
    }
}
