import Foundation
import SyncTesting
import Testing
import Varlink

/// The example program `follow` of a language without a library: `Examples/clients`.
enum ClientProgram: String, CaseIterable, CustomTestStringConvertible {
    case python, go, node

    var testDescription: String { rawValue }

    private static let folder = Binaries.root.appendingPathComponent("Examples/clients")

    /// The program and the arguments that come before its own; of Go, it is built first.
    ///
    /// `make setup-tests` installs what it needs. Where that is missing the test is cancelled, and on a
    /// server that sets `CI` it fails.
    func command(in scene: Scene) async throws -> [String] {
        let folder = Self.folder.appendingPathComponent(rawValue)
        switch self {
        case .python:
            return [Binaries.plainPython, folder.appendingPathComponent("follow.py").path]
        case .node:
            return [try tool("node"), folder.appendingPathComponent("follow.mjs").path]
        case .go:
            let program = scene.folder.path("follow-go")
            var environment = scene.environment
            // Of the whole build: the library is compiled once. No network, no compiler of C.
            environment["GOCACHE"] = Binaries.root.appendingPathComponent(".build/go-cache").path
            environment.merge(["CGO_ENABLED": "0", "GOPROXY": "off", "GOFLAGS": "-mod=mod"]) { $1 }
            let build = try Child(
                "/usr/bin/env",
                ["-C", folder.path, try tool("go"), "build", "-o", program, "./follow"],
                in: scene.folder, environment: environment)
            try await build.output(within: .seconds(300)).expectSuccess()
            return [program]
        }
    }

    private func tool(_ name: String) throws -> String {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        for folder in path.split(separator: ":") {
            let candidate = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        let reason = "there is no '\(name)': the \(rawValue) client was not run (make setup-tests)"
        guard ProcessInfo.processInfo.environment["CI"] == nil else {
            throw MissingTool(description: reason)
        }
        try Test.cancel("\(reason)")
    }

    struct MissingTool: Error, CustomStringConvertible {
        let description: String
    }
}

/// A running `follow` of a language, with its file.
actor ClientRun {
    private let scene: Scene
    private let database: String
    private let objects: [String]
    private let command: [String]
    private var child: Child?
    /// What the clients before this one printed.
    private var printed = ""
    private(set) var log: ClientLog

    init(_ program: ClientProgram, of database: String, holding: [String], in scene: Scene)
        async throws
    {
        self.scene = scene
        self.database = database
        objects = holding
        command = try await program.command(in: scene)
        log = ClientLog(scene.folder.url.appendingPathComponent("\(program).log"))
    }

    func start() throws {
        child = try scene.start(
            command[0], command.dropFirst() + [database, log.url.path] + objects)
    }

    /// Kills it as a crash would.
    func kill() async {
        await child?.stop()
        printed += child?.text ?? ""
        child = nil
    }

    /// What it printed, through all of its lives.
    var text: String { printed + (child?.text ?? "") }
    var errors: String { child?.errors ?? "" }

    /// Waits until the file satisfies a condition.
    ///
    /// - Throws: what the program said, when it ended before, or the time is over.
    func wait(until condition: (ClientLog) -> Bool) async throws {
        _ = await eventually(within: .seconds(60), every: .milliseconds(50)) {
            log.read()
            return condition(log) || child?.isRunning != true
        }
        guard condition(log) else {
            let last = log.transactions.last?.number ?? 0
            throw Waiting(description: "\(command): at transaction \(last): \(errors)")
        }
    }

    /// Waits until as many transactions have come from now on: then it is connected.
    ///
    /// - Throws: as ``wait(until:)``.
    func wait(forMore count: Int) async throws {
        log.read()
        let present = log.transactions.count
        try await wait { $0.transactions.count >= present + count }
    }

    struct Waiting: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs it to its end.
    func output(_ arguments: [String]) async throws -> Child.Output {
        try await scene.start(command[0], command.dropFirst() + arguments).output()
    }
}

/// The file of a `follow`, as far as it was read: only whole lines count.
struct ClientLog {
    let url: URL
    /// Of the last line that has one.
    private(set) var token: String?
    private(set) var transactions: [Recorded] = []

    init(_ url: URL) { self.url = url }

    /// Reads all of it: the program may have cut its end off.
    mutating func read() {
        guard let data = try? Data(contentsOf: url),
            let end = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return }
        let replies = String(decoding: data[...end], as: UTF8.self).split(separator: "\n")
            .compactMap { try? JSONParser.parse(String($0)) }
        token = replies.last { $0["token"] != nil }?["token"]?.string
        transactions = Recorded.all(
            replies.compactMap { $0["transaction"]?.description }.joined(separator: "\n"))
    }
}
