import SyncReplica

/// The direction of an exchange, seen from the replica.
package enum ExchangeDirection: String, Sendable {
    /// To the remote.
    case push
    /// From the remote.
    case pull
    /// From the remote, then to it.
    case sync

    /// What it consists of.
    var parts: Set<LastExchange.Direction> {
        switch self {
        case .push: [.push]
        case .pull: [.pull]
        case .sync: [.pull, .push]
        }
    }
}
