import SyncClient
import SyncCore

/// Work on a store that fails, as text.
enum TroubleText {
    static func line(_ trouble: StoreTrouble, now: Timestamp = .now()) -> String {
        "\(trouble.text) (for \(LocalTime.age(of: trouble.since, now: now)))"
    }
}
