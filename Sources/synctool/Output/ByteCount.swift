/// Sizes as a user reads them.
enum ByteCount {
    /// `512 bytes`, `120 kB`, `34 MB`: decimal units, rounded down.
    static func text(_ count: Int64) -> String {
        switch count {
        case ..<10_000: return "\(count) bytes"
        case ..<10_000_000: return "\(count / 1000) kB"
        default: return "\(count / 1_000_000) MB"
        }
    }
}
