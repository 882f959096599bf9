import Foundation
import Glibc
import SyncClient

/// A daemon of root's with two stores of one user and one of another, and the processes that it has
/// for them.
struct WorkerScene {
    let daemon: TestDaemon
    let bobs: [String]
    let alices: String

    /// - Parameter configuration: workers answer soon, and have little memory.
    init(
        configuration: String = "workers: {answerSeconds: 5, memory: 256MB}\n"
    ) async throws {
        daemon = try await TestDaemon()
        try configuration.write(
            toFile: daemon.directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        _ = daemon.stop()
        try await daemon.start()
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o666)
        var bobs: [String] = []
        for index in 0..<2 {
            bobs.append(
                try await Self.makeStore("bob/\(index).db", owner: WorkerTests.bob, daemon))
        }
        self.bobs = bobs
        alices = try await Self.makeStore("alice/0.db", owner: WorkerTests.alice, daemon)
    }

    /// A tracked store in a folder of its owner's, who alone may read it.
    static func makeStore(
        _ name: String, owner: UInt32, _ daemon: TestDaemon
    ) async throws -> String {
        let path = daemon.directory.file(name)
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        mkdir(folder, 0o700)
        try sqlite3(
            path,
            """
            PRAGMA journal_mode = WAL; CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
            INSERT INTO Artist VALUES (1, 'Alice');
            """)
        for file in [folder, path] { chown(file, owner, owner) }
        _ = try await daemon.client.track(path)
        return path
    }

    // MARK: Processes

    /// The processes that a daemon has started, with their arguments.
    static func children(of daemon: TestDaemon) throws -> [(pid: Int32, arguments: [String])] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { name in
            guard let pid = Int32(name), parent(of: pid) == daemon.pid else { return nil }
            let text = (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? ""
            return text.isEmpty ? nil : (pid, text.split(separator: "\0").map(String.init))
        }
    }

    private static func parent(of pid: Int32) -> Int32? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        return text[end...].split(separator: " ").dropFirst(2).first.flatMap { Int32($0) }
    }

    /// Whether a process has ended; one that nobody has waited for yet has no memory left.
    static func isGone(_ pid: Int32) -> Bool {
        ((try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? "").isEmpty
    }

    /// The workers of an owner: one, or none while it is started again.
    func workers(of owner: UInt32) throws -> [Int32] {
        try Self.children(of: daemon).filter { $0.arguments.contains("\(owner)") }.map(\.pid)
    }

    func worker(of owner: UInt32) throws -> Int32 {
        guard let pid = try workers(of: owner).first else {
            throw Failure("uid \(owner) has no worker: \(daemon.log)")
        }
        return pid
    }

    /// The daemon and the workers that have a file open.
    func processes(thatHaveOpen path: String) throws -> [Int32] {
        let all = [daemon.pid] + (try Self.children(of: daemon).map(\.pid))
        return all.filter { pid in
            let folder = "/proc/\(pid)/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.contains {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))
                    == path
            }
        }
    }
}
