import Synchronization

/// The open connections of a server, counted in total and by user, and the bytes that they hold.
///
/// Invariants, guarded by the mutex: `perUser` holds the number of `connections` by uid and no
/// zeros; `bytesPerUser` the sum of what these have noted, and no zeros; once stopped, no
/// connection is admitted.
final class ConnectionRegistry: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: ServerConnection] = [:]
        var perUser: [UInt32: Int] = [:]
        var bytesPerUser: [UInt32: Int] = [:]
        var isStopped = false
    }

    private let connectionsMax: Int
    private let connectionsPerUserMax: Int
    private let bytesPerUserMax: Int
    private let state = Mutex(State())

    init(limits: ServerLimits) {
        connectionsMax = limits.connectionsMax
        connectionsPerUserMax = limits.connectionsPerUserMax
        bytesPerUserMax = limits.bytesPerUserMax
    }

    var count: Int { state.withLock { $0.connections.count } }

    var open: [ServerConnection] { state.withLock { Array($0.connections.values) } }

    /// Adds a connection.
    ///
    /// - Returns: nil, or why it is refused.
    func admit(_ connection: ServerConnection) -> String? {
        let uid = connection.peer.uid
        return state.withLock { state in
            if state.isStopped { return "the server is stopping" }
            if state.connections.count >= connectionsMax {
                return "\(connectionsMax) connections are open"
            }
            let ofUser = state.perUser[uid, default: 0]
            if ofUser >= connectionsPerUserMax {
                return "\(ofUser) connections of user \(uid) are open"
            }
            state.connections[ObjectIdentifier(connection)] = connection
            state.perUser[uid] = ofUser + 1
            return nil
        }
    }

    func remove(_ connection: ServerConnection) {
        state.withLock { state in
            guard state.connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else {
                return
            }
            let uid = connection.peer.uid
            let left = state.perUser[uid, default: 1] - 1
            state.perUser[uid] = left > 0 ? left : nil
        }
    }

    /// A connection of a user holds `change` bytes more, or less.
    ///
    /// - Returns: whether those of the user hold more than they may, all together.
    func note(_ change: Int, ofUser uid: UInt32) -> Bool {
        state.withLock { state in
            let bytes = state.bytesPerUser[uid, default: 0] + change
            state.bytesPerUser[uid] = bytes == 0 ? nil : bytes
            return bytes > bytesPerUserMax
        }
    }

    /// What the connections of a user hold.
    func bytes(ofUser uid: UInt32) -> Int { state.withLock { $0.bytesPerUser[uid] ?? 0 } }

    /// Admits no connection any more.
    ///
    /// - Returns: the connections that are open.
    func stop() -> [ServerConnection] {
        state.withLock { state in
            state.isStopped = true
            return Array(state.connections.values)
        }
    }
}
