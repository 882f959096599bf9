import SyncClient
import SyncCore

/// A reload of the daemon's configuration that failed, as text.
enum ReloadText {
    static let hint =
        "Correct the files, then: systemctl reload syncd. To check them: syncd --check-config"

    static func line(_ failure: ReloadFailure, now: Timestamp = .now()) -> String {
        let time = LocalTime.ago(failure.time, now: now)
        return "the last reload of the configuration failed (\(time)), and the one before is in "
            + "use: " + (failure.reason ?? "root and the daemon's user see why")
    }
}
