import Foundation
import SyncTesting
import Synchronization

@testable import Varlink

extension TemporaryFolder {
    /// The address of a socket in it.
    func address(_ name: String = "socket") throws -> VarlinkAddress {
        try VarlinkAddress(file(name))
    }
}

/// A socket as a service manager holds it, which stays while servers come and go.
final class HeldSocket {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)

    init(_ address: VarlinkAddress) throws {
        let isBound = UnixSocket.bind(descriptor, to: address) == 0
        guard isBound, listen(descriptor, 1024) == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    deinit { close(descriptor) }
}

/// A client without manners: a blocking socket that sends any bytes.
final class RawClient: Sendable {
    private let descriptor: CInt
    private let unread = Mutex<[UInt8]>([])

    init(_ address: VarlinkAddress) throws {
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        guard UnixSocket.connect(descriptor, to: address) == 0 else {
            throw POSIXError(.ECONNREFUSED)
        }
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
    }

    deinit { close(descriptor) }

    /// False when the other side is gone.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ call: CallMessage) -> Bool { send(call.encoded()) }

    func endInput() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// The next message without its NUL; nil at the end of the connection.
    func receive() async -> String? {
        await blocking { self.receiveBlocking() }
    }

    func receiveBlocking() -> String? {
        unread.withLock { unread in
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            var searched = 0
            while true {
                if let end = unread[searched...].firstIndex(of: 0) {
                    defer { unread.removeSubrange(...end) }
                    return String(decoding: unread[..<end], as: UTF8.self)
                }
                searched = unread.count
                let count = recv(descriptor, &chunk, chunk.count, 0)
                if count <= 0 { return nil }
                unread += chunk[..<count]
            }
        }
    }

    func reply() async throws -> ReplyMessage? {
        guard let text = await receive() else { return nil }
        return try Array(text.utf8).withUnsafeBufferPointer { try ReplyMessage(parsing: $0) }
    }
}

/// Runs what waits on a thread of its own: the few threads of Swift's pool must not wait.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}

/// A value that tests share with handlers.
final class Shared<Value: Sendable>: Sendable {
    private let box: Mutex<Value>

    init(_ value: Value) { box = Mutex(value) }

    var value: Value { box.withLock { $0 } }

    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        box.withLock { body(&$0) }
    }
}

extension ServiceInfo {
    static let test = ServiceInfo(vendor: "v", product: "p", version: "1", url: "u")
}

/// The interface most tests talk to.
enum Ping {
    static let definition = """
        # Answers.
        interface org.example.ping

        type Options (loud: ?bool, kind: ?(one, two))

        method Ping(text: string, number: ?int, options: ?Options) -> (text: string)
        method Slow(text: string) -> (text: string)
        method Fail() -> ()
        method Peer() -> (uid: int, pid: int)
        method Note(text: string) -> ()
        method Watch(count: int) -> (number: int)

        error Failed (why: string)
        """

    static func interface(
        note: @escaping @Sendable (String) -> Void = { _ in },
        watch: @escaping ServedInterface.StreamHandler = { _, stream in stream.finish() }
    ) throws -> ServedInterface {
        var interface = try ServedInterface(definition)
        interface.onImmediate("Ping") { ["text": $0.parameters["text"] ?? nil] }
        interface.on("Slow") { call in
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...5)))
            return ["text": call.parameters["text"] ?? nil]
        }
        interface.on("Fail") { _ in
            throw VarlinkError("org.example.ping.Failed", parameters: ["why": "asked to"])
        }
        interface.onImmediate("Peer") {
            ["uid": .integer(Int64($0.peer.uid)), "pid": .integer(Int64($0.peer.pid))]
        }
        interface.on("Note") { call in
            note(call.parameters["text"]?.string ?? "")
            return [:]
        }
        interface.onStream("Watch", handler: watch)
        return interface
    }

    static func call(_ text: String, _ method: String = "Ping", oneway: Bool = false)
        -> CallMessage
    {
        CallMessage(
            method: "org.example.ping.\(method)", parameters: ["text": .string(text)],
            oneway: oneway)
    }
}

/// Serves `interface` on a socket of its own while `body` runs.
func withServer<Result>(
    _ interface: ServedInterface, limits: ServerLimits = ServerLimits(),
    onEvent: @escaping @Sendable (ServerEvent) -> Void = { _ in },
    _ body: (VarlinkServer, VarlinkAddress) async throws -> Result
) async throws -> Result {
    let directory = try TemporaryFolder()
    defer { directory.remove() }
    let address = try directory.address()
    let server = try VarlinkServer(
        info: .test, interfaces: [interface], limits: limits, onEvent: onEvent)
    try await server.listen(at: address)
    do {
        let result = try await body(server, address)
        await server.stop()
        return result
    } catch {
        await server.stop()
        throw error
    }
}
