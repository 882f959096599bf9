import CLinux

/// Which file is at a path, when it was last written, and its length: a hint that costs no lock.
/// The kernel's clock for it advances every few milliseconds, so that equal stamps prove nothing.
package struct FileStamp: Sendable, Equatable {
    private let identity: FileIdentity
    private let written: Int64
    /// In bytes.
    package let length: UInt64

    /// The stamp of the file at `path`; nil when there is none.
    package init?(path: String) {
        var file = syncd_file()
        guard syncd_identify(path, &file) == 0 else { return nil }
        identity = FileIdentity(file)
        written = file.write_seconds &* 1_000_000_000 &+ Int64(file.write_nanoseconds)
        length = file.length
    }
}
