import Foundation
import Glibc

/// A process of this machine, distinguished from a later one with the same number by its start.
package struct ProcessIdentity: Codable, Sendable, Hashable {
    /// The process id.
    package let pid: Int32
    /// Ticks since the machine started (`proc(5)`, field 22 of `/proc/PID/stat`).
    let start: UInt64
    /// The identifier of the machine's start.
    let boot: String

    /// - Returns: nil when there is no such process.
    package init?(pid: Int32) {
        guard let start = Self.start(of: pid) else { return nil }
        self.pid = pid
        self.start = start
        boot = Self.boot
    }

    var isCurrent: Bool { pid == getpid() && isAlive }

    /// Whether the process exists and was not replaced by another one. A zombie has ended.
    var isAlive: Bool { boot == Self.boot && Self.start(of: pid) == start }

    private static let boot =
        (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8))?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? ""

    private static func start(of pid: Int32) -> UInt64? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            // The name may contain blanks and brackets: the fields after the last one.
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X" else { return nil }
        return UInt64(fields[19])
    }
}
