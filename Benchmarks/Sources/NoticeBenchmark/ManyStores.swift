import CNotice
import Foundation

/// Processor time and memory of a real syncd that has nothing to do, with 1, 100 and 1,000 stores.
enum ManyStores {
    static func measure(seconds: UInt32 = 20) throws {
        for count in [1, 100, 1_000] {
            let folder = NSTemporaryDirectory() + "/stores-" + UUID().uuidString
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let paths = (0..<count).map { "\(folder)/\($0).db" }
            for path in paths { _ = notice_make_plain(path) }
            // Once to track them, so that the start that is measured is an ordinary one.
            do { _ = try Daemon(folder: folder, stores: paths) }
            try? FileManager.default.removeItem(atPath: folder + "/s")
            let daemon = try Daemon(folder: folder, stores: paths)
            sleep(20)
            let before = daemon.processorSeconds
            sleep(seconds)
            let share = (daemon.processorSeconds - before) / Double(seconds) * 100
            print(
                "(c) syncd, idle, \(count) stores:" + String(format: " cpu %.2f %%", share)
                    + ", memory \(daemon.memory("Pss")) kB, of it private "
                    + "\(daemon.memory("Private_Dirty")) kB; \(daemon.residentKilobytes)")
        }
    }
}
