import CLinux
import SyncStorage
import SyncValues

/// When a file was last written, and its length: a hint that costs no lock. The kernel's clock for
/// it moves each few milliseconds, so equal stamps prove nothing.
struct FileStamp: Equatable {
    private let written: Int64
    private let length: UInt64

    /// The stamp of the file at `path`; nil when there is none.
    init?(path: String) {
        var file = syncd_file()
        guard syncd_identify(path, &file) == 0 else { return nil }
        written = file.write_seconds &* 1_000_000_000 &+ Int64(file.write_nanoseconds)
        length = file.length
    }
}
