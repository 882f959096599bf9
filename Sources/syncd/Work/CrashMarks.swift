import CLinux
import Foundation
import Logging
import SyncCore
import Synchronization

/// Remembers in the state directory which stores of other users the daemon is at work on, so that
/// after a crash it is known which ones may have caused it.
///
/// `working` has a slot for each thread at work: the path while the work lasts, nothing otherwise.
/// It is written without syncing, because it has to survive the process, not the machine; it begins
/// with the machine's boot id, and what an earlier boot left does not count. `crashes.json` has,
/// for each path, how many times in a row the daemon ended while it was at work on it.
///
/// Invariants:
/// - A slot is in `free` exactly while no work has it, and then it is empty in the file.
/// - A path is counted when it was in a slot as the daemon ended, whatever ended it: SIGKILL, the
///   lack of memory. Where a thread ended it by a fault or a trap, the handler of the signal marks
///   the slot of that thread (``markBit``), and only such a one is counted. A daemon that ends
///   without work on it begins to count again, unless the store is in quarantine
///   (``quarantineMin``); ``forgive(_:)`` ends that.
///
/// A directory that takes no such file is for others to report: then nothing is remembered.
final class CrashMarks: Sendable {
    /// This number of crashes in a row put a store into quarantine. One may be another's fault:
    /// work on several stores goes on at the same time.
    static let quarantineMin = 2

    private struct Content: Codable {
        var version = 1
        var crashes: ExactMap<Int> = [:]
    }

    private static let slotCount = 128
    /// Two bytes for the length, then the path.
    private static let slotBytes = 2 + Int(PATH_MAX)
    private static let headerBytes = 64
    /// In the second byte of the length.
    private static let markBit: UInt8 = 0x80

    private let file: String
    private let descriptor: Int32
    private let crashed: Mutex<ExactMap<Int>>
    private let free = Mutex(Array(0..<slotCount))

    /// Reads what the last daemon left, and counts it.
    ///
    /// - Parameter directory: exists; no other daemon uses it.
    init(directory: String, log: Logger) {
        file = directory + "/crashes.json"
        let before = Self.read(file)
        descriptor = open(directory + "/working", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o640)
        var crashes = before.filter { $0.value >= Self.quarantineMin }
        for path in Self.paths(in: descriptor) { crashes[path] = (before[path] ?? 0) + 1 }
        crashed = Mutex(crashes)
        if crashes != before { write(crashes) }
        Self.begin(descriptor)
        syncd_set_crash_file(descriptor)
        for (path, count) in crashes.sorted(by: { $0.key.precedesInBytes($1.key) }) {
            log.warning(
                "the daemon ended \(count) times in a row while it was at work on a store",
                metadata: ["store": .string(path)])
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        syncd_set_crash_file(-1)
        close(descriptor)
    }

    /// How many times in a row the daemon ended while it was at work on a store.
    func crashes(of path: String) -> Int { crashed.withLock { $0[path] ?? 0 } }

    /// The store did not end the daemon, or is to be tried again.
    func forgive(_ path: String) {
        let left = crashed.withLock { crashed -> ExactMap<Int>? in
            crashed.removeValue(forKey: path) == nil ? nil : crashed
        }
        if let left { write(left) }
    }

    /// Runs `body`, which reads or writes a store.
    ///
    /// - Complexity: O(1), two system calls.
    func working<Result>(on path: String, _ body: () throws -> Result) rethrows -> Result {
        guard descriptor >= 0, let slot = free.withLock({ $0.popLast() }) else {
            return try body()
        }
        let offset = off_t(Self.headerBytes + slot * Self.slotBytes)
        let bytes = Array(path.utf8.prefix(Int(PATH_MAX)))
        let length = [UInt8(bytes.count & 0xff), UInt8(bytes.count >> 8)]
        _ = pwrite(descriptor, length + bytes, 2 + bytes.count, offset)
        // Within other work on this thread that goes on afterwards.
        let outer = syncd_set_crash_mark(
            syncd_crash_mark(offset: Int64(offset) + 1, byte: length[1] | Self.markBit))
        defer {
            _ = syncd_set_crash_mark(outer)
            _ = pwrite(descriptor, [0, 0] as [UInt8], 2, offset)
            free.withLock { $0.append(slot) }
        }
        return try body()
    }

    // MARK: Files

    private static var bootID: [UInt8] {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        let bytes = Array((text ?? "").utf8.prefix(headerBytes))
        return bytes + Array(repeating: 0, count: headerBytes - bytes.count)
    }

    /// The paths that the last daemon of this boot was at work on.
    private static func paths(in descriptor: Int32) -> ExactSet {
        var bytes = [UInt8](repeating: 0, count: headerBytes + slotCount * slotBytes)
        let count = descriptor < 0 ? 0 : pread(descriptor, &bytes, bytes.count, 0)
        guard count >= headerBytes, Array(bytes[..<headerBytes]) == bootID else { return [] }
        var (paths, marked): (ExactSet, ExactSet) = ([], [])
        for slot in 0..<slotCount {
            let start = headerBytes + slot * slotBytes
            let length = Int(bytes[start]) | Int(bytes[start + 1] & ~markBit) << 8
            guard length > 0, length <= Int(PATH_MAX) else { continue }
            let path = String(decoding: bytes[start + 2..<start + 2 + length], as: UTF8.self)
            paths.insert(path)
            if bytes[start + 1] & markBit != 0 { marked.insert(path) }
        }
        return marked.isEmpty ? paths : marked
    }

    private static func begin(_ descriptor: Int32) {
        guard descriptor >= 0 else { return }
        _ = ftruncate(descriptor, 0)
        _ = pwrite(descriptor, bootID, headerBytes, 0)
        _ = ftruncate(descriptor, off_t(headerBytes + slotCount * slotBytes))
    }

    private static func read(_ file: String) -> ExactMap<Int> {
        guard let data = FileManager.default.contents(atPath: file),
            let content = try? JSONDecoder().decode(Content.self, from: data)
        else { return [:] }
        return content.crashes
    }

    /// What cannot be written is counted again from the beginning.
    private func write(_ crashes: ExactMap<Int>) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(Content(crashes: crashes)) else { return }
        try? StateFile.replace(file, with: data)
    }
}
