/// An error below the level of calls: addresses, sockets, bytes.
public struct TransportError: Error, CustomStringConvertible {
    /// The kind of failure. More may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private let name: String

        /// The code's name.
        public var description: String { name }

        /// The address is not a varlink address, or its path is too long for a socket.
        public static let invalidAddress = Code(name: "invalidAddress")
        /// Another process listens there.
        public static let addressInUse = Code(name: "addressInUse")
        /// The socket cannot be created or listened on.
        public static let cannotListen = Code(name: "cannotListen")
        /// No service answers at the address.
        public static let cannotConnect = Code(name: "cannotConnect")
        /// The permissions of the socket do not let this process connect.
        public static let notPermitted = Code(name: "notPermitted")
        /// The connection ended while replies were due.
        public static let connectionLost = Code(name: "connectionLost")
        /// This side closed the connection.
        public static let closed = Code(name: "closed")
        /// A reply did not come in time; the connection is closed.
        public static let timedOut = Code(name: "timedOut")
        /// The other side sent bytes that are not a varlink message; the connection is closed.
        public static let malformedMessage = Code(name: "malformedMessage")
        /// A message exceeds the limit; the connection is closed.
        public static let messageTooLarge = Code(name: "messageTooLarge")
        /// The interfaces of a server do not match its handlers, or conflict with each other.
        public static let invalidInterface = Code(name: "invalidInterface")
    }

    /// The kind of failure.
    public let code: Code
    /// What happened.
    public let reason: String
    /// The address or path, when there is one.
    public let path: String?
    /// What to do about it, where that is known.
    public let hint: String?

    /// Makes an error.
    public init(_ code: Code, _ reason: String, path: String? = nil, hint: String? = nil) {
        self.code = code
        self.reason = reason
        self.path = path
        self.hint = hint
    }

    /// Path, reason and hint.
    public var description: String {
        (path.map { "\($0): " } ?? "") + reason + (hint.map { " (\($0))" } ?? "")
    }
}

extension TransportError: Equatable {
    /// Errors are equal when their codes are.
    public static func == (left: TransportError, right: TransportError) -> Bool {
        left.code == right.code
    }
}
