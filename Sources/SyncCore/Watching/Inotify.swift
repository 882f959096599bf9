import Glibc
import SyncValues

/// One inotify descriptor. Confined to the thread that reads it.
final class Inotify {
    /// One event. The name is empty for a watched file, and that of the entry for a watched
    /// directory.
    struct Event {
        let watch: Int32
        let mask: UInt32
        let name: String
    }

    let descriptor: Int32
    private let buffer: UnsafeMutableRawBufferPointer

    /// - Throws: when the user has no inotify instance left (`fs.inotify.max_user_instances`).
    init() throws {
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else {
            throw SyncError(
                .refused, "inotify: \(String(cString: strerror(errno)))",
                hint: "Raise fs.inotify.max_user_instances")
        }
        buffer = .allocate(byteCount: 16_384, alignment: 8)
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    /// Watches `path`; nil when that is not possible. The same file gives the same watch.
    func add(_ path: String, mask: UInt32) -> Int32? {
        let watch = inotify_add_watch(descriptor, path, mask)
        return watch >= 0 ? watch : nil
    }

    func remove(_ watch: Int32) { inotify_rm_watch(descriptor, watch) }

    /// Hands the waiting events over, in order. One read: what comes in between wakes the next
    /// `ppoll`.
    func read(_ body: (Event) -> Void) {
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        var offset = 0
        while offset + 16 <= count {
            let watch = buffer.load(fromByteOffset: offset, as: Int32.self)
            let mask = buffer.load(fromByteOffset: offset + 4, as: UInt32.self)
            let length = Int(buffer.load(fromByteOffset: offset + 12, as: UInt32.self))
            var name = ""
            if length > 0, let base = buffer.baseAddress {
                name = String(
                    cString: (base + offset + 16).assumingMemoryBound(to: CChar.self))
            }
            body(Event(watch: watch, mask: mask, name: name))
            offset += 16 + length
        }
    }
}
