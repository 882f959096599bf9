import SyncCore
import Synchronization
import Varlink

/// The one connection that ordinary calls of a client share; made at the first call, and made again
/// when it was lost.
///
/// Invariant: `client` is nil, or was connected and not yet found lost.
final class CallConnection: Sendable {
    /// How long a call that lost its connection is tried again: a daemon that restarts is away for
    /// a moment. A daemon that was not there from the start is reported at once.
    private static let retryMax: Duration = .seconds(5)
    private static let retryDelay: Duration = .milliseconds(50)

    let socket: String
    private let client = Mutex<VarlinkClient?>(nil)

    init(socket: String) { self.socket = socket }

    deinit { close() }

    func close() {
        client.withLock { client in
            client?.close()
            client = nil
        }
    }

    /// A separate connection, for a stream.
    ///
    /// - Throws: ``SyncError``: `unreachable`; `CancellationError`.
    func connect() async throws -> VarlinkClient {
        do {
            return try await VarlinkClient.connect(to: VarlinkAddress(socket))
        } catch let error as CancellationError {
            throw error
        } catch {
            throw SyncError(answer: error, socket: socket)
        }
    }

    /// Calls a method of the interface.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`; `CancellationError`.
    func call(_ method: String, with parameters: JSONObject) async throws -> JSONObject {
        let deadline = ContinuousClock.now + Self.retryMax
        var wasConnected = false
        while true {
            do {
                let client = try await shared()
                wasConnected = true
                return try await client.call(StoreInterface.method(method), with: parameters)
            } catch let error as TransportError where error.code == .connectionLost {
                forgetConnection()
            } catch let error as CancellationError {
                throw error
            } catch {
                let error = SyncError(answer: error, socket: socket)
                if error.code != .unreachable || !wasConnected { throw error }
                forgetConnection()
                if ContinuousClock.now >= deadline { throw error }
            }
            try await Task.sleep(for: Self.retryDelay)
        }
    }

    private func shared() async throws -> VarlinkClient {
        if let client = client.withLock({ $0 }) { return client }
        let new = try await connect()
        return client.withLock { client in
            if let client { return client }
            client = new
            return new
        }
    }

    private func forgetConnection() { client.withLock { $0 = nil } }
}
