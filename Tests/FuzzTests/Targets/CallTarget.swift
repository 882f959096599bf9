import Foundation
import Logging
import NIOCore
import NIOPosix
import SyncTesting

@testable import SyncClient
@testable import SyncCore
@testable import SyncStorage
@testable import Varlink
@testable import syncd

/// Every call of the daemon's interface with parameters that its types allow and ones that they do
/// not: each is answered.
enum CallTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        let service = try service.get()
        var choices = FuzzChoices(bytes)
        let count = 1 + choices.below(3)
        for _ in 0..<count {
            try service.trackAgain()
            guard let method = choices.pick(service.interface.methods) else { return }
            var parameters: JSONObject = [:]
            for field in method.input {
                if let value = service.value(field, of: field.type, &choices, depth: 0) {
                    parameters[field.name] = value
                }
            }
            try service.call(method.name, parameters)
        }
        try service.call("Head", ["store": .string(service.store)])
    }

    private static let service = Result { try FuzzedService() }
}

/// A daemon in this process, and one connection to it.
private final class FuzzedService: @unchecked Sendable {  // one input at a time
    let store = FuzzFolder.file("call.db")
    let interface: Interface
    private let socket: String
    private var descriptor: Int32 = -1
    private let keep: [Any]
    /// Whether the store may not be tracked: at the beginning, and after some calls.
    private var mayBeUntracked = true

    init() throws {
        let state = FuzzFolder.file("state")
        let connection = try PlainConnection(store, wal: true)
        try connection.run(SampleSchema.sql)
        connection.close()
        interface = try Interface(parsing: StoreInterface.description)
        socket = FuzzFolder.file("sock")
        var log = Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }
        log.logLevel = .critical
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let pool = WorkPool()
        let watchers = try StoreWatchers()
        let remembered = try RememberedStores(directory: state)
        let marks = CrashMarks(directory: state, log: log)
        var configuration = Configuration(ConfigurationPaths(isSystem: false) { _ in nil })
        configuration.stateDirectory = state
        let replicator = Replicator(configuration, marks: marks, log: log)
        let registry = StoreRegistry(
            StoreHub.Environment(
                watchers: watchers, pool: pool, loop: group.next(), log: log,
                stateDirectory: state, replication: replicator.queue, marks: marks),
            remembered: remembered)
        let service = StoreService(registry: registry, replicator: replicator, pool: pool)
        let server = try VarlinkServer(
            info: ServiceInfo(vendor: "v", product: "p", version: "1", url: "u"),
            interfaces: [service.interface()], group: group, mapError: StoreService.mapError)
        let address = try VarlinkAddress(socket)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            try await server.listen(at: address)
            done.signal()
        }
        keep = [group, pool, watchers, replicator, registry, server]
        guard done.wait(timeout: .now() + 120) == .success else {
            throw Finding("the service does not listen")
        }
    }

    /// Tracks the store where a call may have ended that: it takes as long as ten other calls.
    func trackAgain() throws {
        guard mayBeUntracked else { return }
        try call("Track", ["path": .string(store)])
        mayBeUntracked = false
    }

    /// Sends a call and waits for its first reply.
    /// - Throws: a ``Finding`` when there is none.
    func call(_ method: String, _ parameters: JSONObject) throws {
        if method.contains("Untrack") { mayBeUntracked = true }
        let call: JSONObject = [
            "method": .string(StoreInterface.method(method)), "parameters": .object(parameters),
            "more": .bool(method == "Subscribe"),
        ]
        if descriptor < 0 { try connect() }
        let bytes = Array(JSONValue.object(call).description.utf8) + [0]
        guard uninterrupted({ write(descriptor, bytes, bytes.count) }) == bytes.count else {
            return disconnect()
        }
        var reply: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while reply.last != 0 {
            let count = uninterrupted { read(descriptor, &chunk, chunk.count) }
            // A call that is no call ends its connection.
            guard count > 0 else {
                try require(count == 0, "no reply to \(call): errno \(errno)")
                return disconnect()
            }
            reply += chunk[..<count]
        }
        let text = String(decoding: reply.dropLast(), as: UTF8.self)
        try require(!text.contains("InternalFault"), "\(call) was answered with \(text)")
        // A subscription would send more.
        if method == "Subscribe" { disconnect() }
    }

    /// The timer of libFuzzer interrupts what waits.
    private func uninterrupted(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private func disconnect() {
        close(descriptor)
        descriptor = -1
    }

    private func connect() throws {
        descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                uninterrupted { Int(Glibc.connect(descriptor, address, size)) }
            }
        }
        try require(status == 0, "the service does not accept: \(errno)")
        // Longer than a loaded machine needs; libFuzzer ends a hang before.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    // MARK: Parameters

    private static let texts = [
        "note", "item", "note/1", "note/99", "text", "reader", "writer", "insert", "delete", "c",
        "2026-01-31", "-2h", "", "none", "all", "*", "/nowhere.db", "\u{0}", "9999-12-31T23:59:59Z",
    ]

    /// A value of a type of the interface, or of none; nil: left out.
    func value(
        _ field: Field, of type: TypeReference, _ choices: inout FuzzChoices, depth: Int
    ) -> JSONValue? {
        if field.name == "store" || field.name == "path", choices.byte() % 16 != 15 {
            return .string(store)
        }
        let odd = choices.byte()
        if odd > 250 {
            return [.null, .bool(true), .array([]), .object([:]), .string("x")][Int(odd) - 251]
        }
        guard depth < 4 else { return .null }
        switch type {
        case .optional(let inner):
            return odd % 3 == 0 ? nil : value(field, of: inner, &choices, depth: depth + 1)
        case .array(let inner):
            return .array(
                (0..<choices.below(4)).compactMap { _ in
                    value(field, of: inner, &choices, depth: depth + 1)
                })
        case .bool: return .bool(choices.flag())
        case .int: return .integer(choices.number())
        case .string:
            if field.name.lowercased().contains("token")
                || ["after", "upTo", "before"].contains(field.name)
            {
                return .string(token(&choices))
            }
            return .string(choices.flag() ? choices.pick(Self.texts) ?? "" : choices.text())
        case .named(let name):
            guard let definition = interface.types.first(where: { $0.name == name }) else {
                return .null
            }
            return value(field, of: definition.type, &choices, depth: depth)
        case .structure(let fields):
            var object: JSONObject = [:]
            for field in fields {
                object[field.name] = value(field, of: field.type, &choices, depth: depth + 1)
            }
            return .object(object)
        case .enumeration(let cases): return .string(choices.pick(cases)?.name ?? "")
        default: return .object(["x": .integer(choices.number())])
        }
    }

    private func token(_ choices: inout FuzzChoices) -> String {
        guard let store = try? Store.open(store) else { return "" }
        defer { try? store.close() }
        guard let head = try? store.head() else { return "" }
        return Token(
            store: head.store, epoch: choices.flag() ? head.epoch : choices.number(),
            number: choices.flag() ? choices.number() : head.number,
            time: Timestamp(milliseconds: choices.number())
        ).description
    }
}
