import Glibc
import SyncStorage

/// Whether a writer is in the middle of a commit: the -wal has a frame after the published ones.
///
/// A writer appends its frames from there on, the header of each before its page, and publishes
/// them last. So when the next place has no frame of the present generation, all that was written
/// is published, and what is written later raises an event. Frames that a rollback left there look
/// like a commit to come.
///
/// The descriptor is its own. SQLite locks the database and the -shm, never the -wal: closing one
/// drops no lock. Confined to the watch thread.
struct WalTail {
    private var descriptor: Int32 = -1

    private static let fileHeaderBytes = 32
    private static let frameHeaderBytes = 24

    /// - Parameter header: the published frames.
    /// - Returns: true also when it cannot be known.
    mutating func hasUnpublishedFrame(after header: WalHeader, path: String) -> Bool {
        // The wal-index of a WAL that was always empty knows of no page size.
        guard header.pageSize > 0 else { return true }
        if descriptor < 0 {
            descriptor = open(path + "-wal", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        }
        guard descriptor >= 0 else { return true }
        let offset =
            Self.fileHeaderBytes + Int(header.frameCount)
            * (Self.frameHeaderBytes + header.pageSize)
        return withUnsafeTemporaryAllocation(byteCount: 8, alignment: 8) { salts in
            let count = pread(descriptor, salts.baseAddress, salts.count, off_t(offset + 8))
            // Nothing there: the end of the file.
            guard count >= 0 else { return true }
            guard count == salts.count else { return false }
            let bytes = UnsafeRawBufferPointer(salts)
            return WalGeneration(
                first: RecordReader.word32(bytes, at: 0), second: RecordReader.word32(bytes, at: 4))
                == header.generation
        }
    }

    /// The file may be another one now, or is not needed for a while.
    mutating func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
