import Glibc
import NIOHTTP1
import Testing

@testable import synctool

/// The server of `synctool ui`.
@Suite(.timeLimit(.minutes(1))) struct HTTPServerTests {
    /// Connections beyond the limit are closed, and the server goes on: whoever has an account on
    /// this machine can connect.
    @Test func moreConnectionsThanItServesDoNotEndIt() async throws {
        let server = try await HTTPServer(port: 0, headers: [:])
        let running = Task { try await server.run { _ in .text(.ok, "here") } }
        let many = (0..<HTTPServer.connectionsMax + 40).compactMap { _ in
            try? connection(to: server.port, sending: "GET / HTTP/1.1\r\nHost: x\r\n")
        }
        #expect(many.count > HTTPServer.connectionsMax)
        let closed = try many.map { try isClosed($0) }.count { $0 }
        #expect(closed >= 1)
        for descriptor in many { close(descriptor) }
        // It learns of the ends a moment later.
        var answer = ""
        for _ in 0..<100 where !answer.hasSuffix("here\n") {
            let last = try connection(to: server.port, sending: "GET / HTTP/1.0\r\n\r\n")
            defer { close(last) }
            answer = text(from: last)
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(answer.hasSuffix("here\n"))
        running.cancel()
        _ = await running.result
    }

    private func connection(to port: Int, sending text: String) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var patience = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0)
        _ = send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL))
        return descriptor
    }

    /// Whether the other side has closed it; one that waits for the rest of a request is open.
    private func isClosed(_ descriptor: Int32) throws -> Bool {
        var byte: UInt8 = 0
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, 50) == 1 else { return false }
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) <= 0
    }

    private func text(from descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
