import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

/// The parts of the road that get killed: the daemon, the Python client, `synctool watch`; and a
/// client in this process, which lives through all of it.
actor Moving {
    private enum Part: CaseIterable { case daemon, python, watch }

    private let scene: Scene
    private let music: String
    private let pythonLog: URL
    private let watchLog: URL
    private var daemon: Child?
    private var python: Child?
    private var watch: Child?
    private var own: Task<Void, any Error>?
    private var ownLines: [Recorded] = []
    private(set) var kills = 0

    init(scene: Scene, music: String) {
        self.scene = scene
        self.music = music
        pythonLog = scene.folder.url.appendingPathComponent("python.log")
        watchLog = scene.folder.url.appendingPathComponent("watch.log")
    }

    func startDaemon() async throws { daemon = try await scene.startDaemon() }

    /// Starts all clients, and waits until one transaction has come to each: from there on, each
    /// has a token to resume from.
    func startClients() async throws {
        let subscription = StoreClient(socket: scene.socket).subscribe(scene.folder.path(music))
        let (began, hasBegun) = AsyncStream.makeStream(of: Void.self)
        own = Task {
            for try await notice in subscription {
                if case .began = notice { hasBegun.finish() }
                if case .transaction = notice { self.take(notice.json) }
            }
        }
        for await _ in began {}
        try startPython()
        try startWatch()
        // Without a token a client begins now, whenever its now is: give them one.
        var isWritten = false
        let all = try await eventually(within: .seconds(60), every: .milliseconds(200)) {
            if !isWritten, try await watchersAreThere() {
                isWritten = true
                try await scene.sql(music, "INSERT INTO Artist VALUES (99999, 'First')")
            }
            return received().values.allSatisfy { !$0.isEmpty }
        }
        try #require(all, "a client did not start: \(python?.errors ?? "") \(watch?.errors ?? "")")
    }

    /// The daemon counts a subscription for each of the three.
    private func watchersAreThere() async throws -> Bool {
        let text = try await scene.tool("status", music, "--json").expectSuccess().text
        return text.contains("\"subscribers\":3")
    }

    private func take(_ json: [UInt8]) {
        if let line = Recorded(line: String(decoding: json, as: UTF8.self)) {
            ownLines.append(line)
        }
    }

    private func startPython() throws {
        python = try scene.start(Binaries.python, Binaries.follower, music, pythonLog.path)
    }

    /// `synctool watch`, from the last token that it printed; its output is appended. It insists on
    /// the daemon: following the file itself, it would see ends of commits that nobody keeps.
    private func startWatch() throws {
        var arguments = ["watch", music, "--json", "--socket", scene.socket]
        if let token = Recorded.all(trimmed(watchLog)).last?.token {
            arguments += ["--after", token]
        }
        watch = try scene.start(Binaries.synctool, arguments, appending: watchLog)
    }

    /// The whole lines of a file; half of one that was cut short is removed.
    private func trimmed(_ url: URL) -> String {
        guard let data = try? Data(contentsOf: url) else { return "" }
        let end = data.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if end < data.count { truncate(url.path, off_t(end)) }
        return String(decoding: data[..<end], as: UTF8.self)
    }

    /// Kills a part and starts it again, until it is cancelled.
    func killAtRandom(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(Int.random(in: 20...200, using: &random)))
            if Task.isCancelled { return }
            let part = Part.allCases.randomElement(using: &random) ?? .daemon
            let pause = Int.random(in: 0...100, using: &random)
            kills += 1
            switch part {
            case .daemon:
                await daemon?.stop()
                try? await Task.sleep(for: .milliseconds(pause))
                try await startDaemon()
            case .python:
                await python?.stop()
                try? await Task.sleep(for: .milliseconds(pause))
                try startPython()
            case .watch:
                await watch?.stop()
                try? await Task.sleep(for: .milliseconds(pause))
                try startWatch()
            }
        }
    }

    /// Starts what is not running, and waits until each client stands at the end of history.
    func catchUp() async throws {
        if daemon?.isRunning != true { try await startDaemon() }
        if python?.isRunning != true { try startPython() }
        if watch?.isRunning != true { try startWatch() }
        let head = try await StoreClient(socket: scene.socket).head(scene.folder.path(music))
        let all = await eventually(within: .seconds(60), every: .milliseconds(50)) {
            if watch?.isRunning != true { try? startWatch() }
            return received().values.allSatisfy { $0.last?.number == head.number }
        }
        let ends = received().mapValues { $0.last?.number ?? 0 }
        try #require(all, "history ends at \(head.number), clients are at \(ends)")
    }

    func received() -> [String: [Recorded]] {
        [
            "Swift": ownLines, "Python": Recorded.all(trimmedCopy(pythonLog)),
            "watch": Recorded.all(trimmedCopy(watchLog)),
        ]
    }

    private func trimmedCopy(_ url: URL) -> String {
        (try? String(contentsOf: url, encoding: .utf8)) ?? ""
    }

    func stop() async {
        own?.cancel()
        await python?.stop()
        await watch?.stop()
        await daemon?.stop()
    }
}
