/// An interface with the handlers of its methods.
///
/// ```swift
/// var ping = try ServedInterface("""
///     interface org.example.ping
///     method Ping(text: string) -> (text: string)
///     """)
/// ping.on("Ping") { call in ["text": call.parameters["text"] ?? nil] }
/// let server = try VarlinkServer(info: info, interfaces: [ping])
/// ```
public struct ServedInterface: Sendable {
    /// Answers a call.
    public typealias CallHandler = @Sendable (IncomingCall) async throws -> JSONObject

    /// Answers a call without blocking.
    public typealias ImmediateHandler = @Sendable (IncomingCall) throws -> JSONObject

    /// Answers a call by sending to a stream, now or later.
    public typealias StreamHandler = @Sendable (IncomingCall, ReplyStream) async throws -> Void

    /// Answers a call by way of another process, or says that it does not.
    package typealias Relay = @Sendable (IncomingCall, ReplyStream) async throws -> Bool

    enum Handler: Sendable {
        case call(CallHandler)
        case immediate(ImmediateHandler)
        case stream(StreamHandler, requiresMore: Bool)
    }

    /// The parsed definition.
    public let interface: Interface

    /// The definition as it was given, for `GetInterfaceDescription`.
    public let text: String

    private(set) var handlers: [String: Handler] = [:]

    /// Reads the definition; `on`, `onImmediate` and `onStream` add the handlers.
    ///
    /// - Throws: `InterfaceError` with line and column.
    public init(_ text: String) throws(InterfaceError) {
        self.text = text
        interface = try Interface(parsing: text)
    }

    /// Answers `method` with what `handler` returns. A `VarlinkError` it throws is sent as it
    /// is, other errors through the server's error mapper. The task is cancelled when the client
    /// disconnects, unless the call was oneway.
    public mutating func on(_ method: String, handler: @escaping CallHandler) {
        handlers[method] = .call(handler)
    }

    /// Like `on`, for a handler that runs on the connection's event loop: quicker by two thread
    /// switches, and while it runs, no other client of that loop is served. It must not block.
    public mutating func onImmediate(_ method: String, handler: @escaping ImmediateHandler) {
        handlers[method] = .immediate(handler)
    }

    /// Answers `method` with a stream of replies. The handler may return while the stream
    /// continues; the stream must then be kept and finished, or the connection waits until its
    /// client disconnects. A call without `more` is answered with `ExpectedMore`, unless
    /// `requiresMore` is false: then the handler checks `call.more`, and sends one final reply when
    /// it is false.
    public mutating func onStream(
        _ method: String, requiresMore: Bool = true, handler: @escaping StreamHandler
    ) {
        handlers[method] = .stream(handler, requiresMore: requiresMore)
    }

    /// The same interface, whose calls are given to `relay` first: it returns true when it answers
    /// the call itself, with the stream, and false for the handler of the method.
    package func relaying(through relay: @escaping Relay) -> ServedInterface {
        var relayed = self
        relayed.handlers = handlers.mapValues { handler in
            switch handler {
            case .immediate: return handler
            case .call(let answer):
                return .stream(
                    { call, stream in
                        if try await relay(call, stream) { return }
                        stream.finish(try await answer(call))
                    }, requiresMore: false)
            case .stream(let answer, let requiresMore):
                return .stream(
                    { call, stream in
                        if try await relay(call, stream) { return }
                        try await answer(call, stream)
                    }, requiresMore: requiresMore)
            }
        }
        return relayed
    }

    /// - Throws: `TransportError` (`invalidInterface`) when methods and handlers do not match.
    func checkHandlers() throws {
        let methods = Set(interface.methods.map(\.name))
        let missing = methods.subtracting(handlers.keys).sorted()
        guard missing.isEmpty else {
            throw TransportError(
                .invalidInterface,
                "\(interface.name): no handler for \(missing.joined(separator: ", "))")
        }
        let unknown = Set(handlers.keys).subtracting(methods).sorted()
        guard unknown.isEmpty else {
            throw TransportError(
                .invalidInterface,
                "\(interface.name): handlers for undefined \(unknown.joined(separator: ", "))")
        }
    }
}
