import CNotice
import Foundation
import SyncCore

/// Processor time and memory of a process that only waits.
enum Idle {
    static func measure(seconds: Double = 5) throws {
        for count in [1, 100, 1_000] {
            let folder = NSTemporaryDirectory() + "/idle-" + UUID().uuidString
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let before = residentKilobytes()
            let watcher = try StoreWatcher()
            var tails: [Tail] = []
            for number in 0..<count {
                let path = folder + "/\(number).db"
                _ = notice_make_store(path)
                let tail = try Tail(path)
                tails.append(tail)
                _ = watcher.add(path: path, index: tail.index) { _ in _ = tail.look() }
            }
            usleep(1_000_000)
            let start = processorSeconds()
            usleep(UInt32(seconds * 1e6))
            let spent = processorSeconds() - start
            let grown = residentKilobytes() - before
            print(
                "idle, \(count) stores:"
                    + String(format: " cpu %.3f %%, ", spent / seconds * 100)
                    + "memory +\(grown) kB, \(grown / count) kB a store")
            watcher.stop()
        }
    }

    private static func residentKilobytes() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)) ?? ""
        for line in status.split(separator: "\n") where line.hasPrefix("Pss:") {
            return Int(line.split(separator: " ")[1]) ?? 0
        }
        return 0
    }
}
