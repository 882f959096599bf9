import CLinux
import Synchronization

/// Returns to the system what malloc keeps after work that is over.
///
/// glibc returns the end of a heap alone. What clients had in flight leaves holes: after an attack
/// with unread replies and half messages 5 of 70 MiB of the heap were in use, and all of it stayed
/// resident. So the process looks at itself from time to time, and trims its heaps when it has
/// grown and has nothing to do.
///
/// A look costs two system calls, a trim some milliseconds, and a page fault for each page that is
/// used again: with a smaller ``growthMax``, or while the process is busy, pages would come and go.
/// With a larger one an idle daemon keeps more than it needs. What does not shrink was in use then,
/// and may be holes later, which are no growth: so the measure stays the least that the process
/// ever had, and a process that needs more than that trims every third look while it is idle.
final class HeapTrim: Sendable {
    /// What one look sees.
    struct Look: Equatable {
        /// The pages of the process in memory that are in no file, in bytes: those of its program
        /// are the system's to keep or to drop.
        var privateBytes: UInt64
        /// The processor time that it has used.
        var processorTime: Duration

        static func now() -> Look {
            Look(
                privateBytes: syncd_private_bytes(),
                processorTime: .nanoseconds(Int64(syncd_processor_nanoseconds())))
        }
    }

    /// Growth above the least that the process ever had that is left alone.
    static let growthMax: UInt64 = 4 << 20
    /// The processor time between two looks up to which the process has nothing to do.
    static let busyMin = Duration.milliseconds(500)

    /// Looks from one trim to the next.
    private static let looksBetween = 3

    private struct State {
        var least = UInt64.max
        var processorTime = Duration.zero
        /// Looks until the next trim may be.
        var rest = 0
    }

    private let state = Mutex(State())
    private let trim: @Sendable () -> UInt64

    /// - Parameter trim: trims the heaps; returns what is private then, in bytes.
    init(
        trim: @escaping @Sendable () -> UInt64 = {
            syncd_trim_memory()
            return syncd_private_bytes()
        }
    ) {
        self.trim = trim
    }

    /// Trims the heaps when that is due.
    ///
    /// - Returns: whether it did.
    @discardableResult
    func look(_ look: Look = .now()) -> Bool {
        let isDue = state.withLock { state in
            defer { state.processorTime = look.processorTime }
            state.least = min(state.least, look.privateBytes)
            if state.rest > 0 {
                state.rest -= 1
                return false
            }
            return look.privateBytes - state.least > Self.growthMax
                && look.processorTime - state.processorTime < Self.busyMin
        }
        guard isDue else { return false }
        let left = trim()
        state.withLock { state in
            state.least = min(state.least, left)
            state.rest = Self.looksBetween - 1
        }
        return true
    }
}
