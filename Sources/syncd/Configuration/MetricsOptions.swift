/// Where numbers for monitoring are served: the configuration's `metrics`. Nowhere by default.
struct MetricsOptions: Sendable, Equatable, Codable {
    /// Whose stores are named to whom.
    enum Stores: String, Sendable, Equatable, Codable, CaseIterable {
        /// On the socket: the stores that the asking user may read. Over loopback, where nobody is
        /// identified, sums over all stores.
        case permitted
        /// All stores with their paths, to everybody who can connect.
        case all
        /// Sums over all stores.
        case none
    }

    /// An address that only this machine can connect to.
    struct Loopback: Sendable, Equatable, Codable {
        /// `127.0.0.1` or `::1`.
        var host: String
        var port: Int

        /// `127.0.0.1:9186`, `localhost:9186`, `[::1]:9186`; nil for anything else.
        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"),
                let port = Int(text[text.index(after: colon)...]), 1...65_535 ~= port
            else { return nil }
            switch text[..<colon] {
            case "127.0.0.1", "localhost": host = "127.0.0.1"
            case "[::1]": host = "::1"
            default: return nil
            }
            self.port = port
        }
    }

    /// A Unix socket.
    var socket: String?
    /// The mode of that socket; nil: that of the daemon's socket.
    var socketMode: UInt32?
    /// A TCP port of this machine.
    var listen: Loopback?
    /// Whose stores are named to whom.
    var stores = Stores.permitted
}
