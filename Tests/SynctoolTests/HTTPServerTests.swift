import Glibc
import NIOHTTP1
import Testing

@testable import synctool

/// The server of `synctool ui`.
@Suite(.timeLimit(.minutes(5))) struct HTTPServerTests {
    /// Connections beyond the limit are closed, and the server goes on: each user of
    /// this machine can connect.
    @Test func moreConnectionsThanItServesDoNotEndIt() async throws {
        let server = try await HTTPServer(port: 0, headers: [:])
        let running = Task { try await server.run { _ in .text(.ok, "here") } }
        let many = (0..<HTTPServer.connectionsMax + 40).compactMap { _ in
            try? connection(to: server.port, sending: "GET / HTTP/1.1\r\nHost: x\r\n")
        }
        #expect(many.count > HTTPServer.connectionsMax)
        // Nothing here blocks: the server runs on the threads that tests have in common.
        while many.count(where: isClosed) < many.count - HTTPServer.connectionsMax {
            try await Task.sleep(for: .milliseconds(5))
        }
        for descriptor in many { close(descriptor) }
        // It learns of the ends a moment later.
        var answer = ""
        while !answer.hasSuffix("here\n") {
            let last = try connection(to: server.port, sending: "GET / HTTP/1.0\r\n\r\n")
            defer { close(last) }
            answer = try await text(from: last)
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
    private func isClosed(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK))
        return count == 0 || count < 0 && errno != EAGAIN
    }

    /// What is received until the other side closes.
    private func text(from descriptor: Int32) async throws -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                bytes += buffer[..<count]
            } else if count < 0, errno == EAGAIN {
                try await Task.sleep(for: .milliseconds(5))
            } else {
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
}
