import Foundation
import Logging
import NIOCore
import SyncClient
import SyncCore
import Varlink

/// A worker process that runs, as the daemon talks to it: over one socket about its stores, over
/// another one it hands over the connections of clients.
final class WorkerLink: Sendable {
    /// How the stores of a worker are.
    struct Condition: Sendable, Equatable {
        var stores = 0
        var closed = 0
    }

    let owner: UInt32
    let process: WorkerProcess
    private let control: VarlinkClient
    private let passing: DescriptorChannel
    private let loop: any EventLoop

    private init(
        owner: UInt32, process: WorkerProcess, control: VarlinkClient, passing: DescriptorChannel,
        loop: any EventLoop
    ) {
        self.owner = owner
        self.process = process
        self.control = control
        self.passing = passing
        self.loop = loop
    }

    /// Starts the process. It serves no store before ``serve(_:retries:within:)``.
    ///
    /// - Parameters:
    ///   - program: the path of this program.
    ///   - onEnd: called on any thread when it has ended.
    /// - Throws: `unreachable` when it cannot be started; the error of the event loop.
    static func start(
        _ settings: WorkerSettings, program: String, loop: any EventLoop, log: Logger,
        onEnd: @escaping @Sendable () -> Void
    ) async throws -> WorkerLink {
        let owner = settings.owner
        let told = try settings.pipe()
        defer { close(told) }
        let (passing, passed) = try DescriptorChannel.pair()
        let (control, controlled) = try VarlinkClient.socketPair()
        defer { for end in [passed, controlled] { close(end) } }
        let process: WorkerProcess
        do {
            process = try WorkerProcess.start(
                [program, "worker", "--owner", "\(owner)"],
                environment: inheritedEnvironment, inherited: [controlled, passed, told],
                onLine: { WorkerLog.pass($0, of: owner, to: log) }, onEnd: onEnd)
        } catch {
            close(control)
            throw error
        }
        do {
            return WorkerLink(
                owner: owner, process: process,
                control: try await VarlinkClient.adopt(control, group: loop), passing: passing,
                loop: loop)
        } catch {
            process.kill()
            throw error
        }
    }

    /// What belongs to the daemon alone: its sockets, its manager's notifications.
    private static var inheritedEnvironment: [String] {
        let prefixes = ["NOTIFY_", "WATCHDOG_", "LISTEN_", "JOURNAL_STREAM", "SYNCD_LOG"]
        return ProcessInfo.processInfo.environment.compactMap { name, value in
            prefixes.contains { name.hasPrefix($0) } ? nil : "\(name)=\(value)"
        }
    }

    // MARK: About its stores

    /// Has it serve the stores of a configuration, and no others.
    ///
    /// - Throws: the worker's error; `TransportError` when it has ended or does not answer.
    func serve(_ configuration: Configuration, retries: Bool, within limit: Duration) async throws {
        let text = String(decoding: try JSONEncoder().encode(configuration), as: UTF8.self)
        _ = try await ask(
            "Serve", ["configuration": .string(text), "retry": .bool(retries)], within: limit)
    }

    /// Asks whether it works.
    ///
    /// - Throws: as ``serve(_:retries:within:)``.
    func ping(within limit: Duration) async throws -> Condition {
        let answer = try await ask("Ping", within: limit)
        return Condition(
            stores: Int(clamping: answer["stores"]?.integer ?? 0),
            closed: Int(clamping: answer["closed"]?.integer ?? 0))
    }

    /// Has it close all stores and end.
    func stop(within limit: Duration) async {
        _ = try? await ask("Stop", within: limit)
        process.kill()
    }

    /// Not cancelled with the task: a call that is withdrawn closes the connection.
    private func ask(
        _ method: String, _ parameters: JSONObject = [:], within limit: Duration
    ) async throws -> JSONObject {
        try await control.answer(
            to: WorkerInterface.method(method), with: parameters, within: limit)
    }

    // MARK: For clients

    /// Passes a call on, and its replies back. Does not block.
    ///
    /// - Throws: `unreachable` when the worker takes no connection.
    func relay(_ call: IncomingCall, to stream: ReplyStream) throws {
        let own = try connection(for: call.peer)
        CallRelay.start(call, to: stream, on: loop, over: own, lost: lost.varlinkError)
    }

    /// Calls a method of the stores' interface for a client, and waits for the one answer, also
    /// when the client is gone meanwhile.
    ///
    /// - Throws: the worker's error; `unreachable` when it ends before, or does not answer.
    func call(
        _ method: String, with parameters: JSONObject, for peer: PeerIdentity,
        within limit: Duration? = nil
    ) async throws -> JSONObject {
        do {
            let client = try await VarlinkClient.adopt(connection(for: peer), group: loop)
            defer { client.close() }
            return try await client.answer(to: method, with: parameters, within: limit)
        } catch is TransportError {
            throw lost
        }
    }

    /// A connection that the worker serves as this client's.
    private func connection(for peer: PeerIdentity) throws -> Int32 {
        do {
            let (own, other) = try VarlinkClient.socketPair()
            defer { close(other) }
            do {
                try passing.send(other, from: peer)
            } catch {
                close(own)
                throw error
            }
            return own
        } catch is TransportError {
            throw lost
        }
    }

    private var lost: SyncError {
        SyncError(
            .unreachable,
            "the process that serves the stores of uid \(owner) ended before it answered",
            hint: "Try again in a moment; the daemon's log says why it ended")
    }
}

extension VarlinkClient {
    /// As ``call(_:with:timeout:)``, but not cancelled with the task.
    fileprivate func answer(
        to method: String, with parameters: JSONObject, within limit: Duration?
    ) async throws -> JSONObject {
        let result = await withCheckedContinuation { continuation in
            call(method, with: parameters, timeout: limit) { continuation.resume(returning: $0) }
        }
        return try result.get().parameters
    }
}
