import Foundation
import Glibc
import SyncMerge
import SyncRemotes
import SyncTesting
import Synchronization

/// A replacement for `ssh`: a program that gets ssh's arguments, and connects to a store in this
/// process, or fails.
final class FakeSSH: Sendable {
    /// The programs outlive the remotes that run them; they go when the process ends.
    private static let folder = Result { try TemporaryFolder() }

    private let path: String

    /// - Parameter script: what the program does, for sh.
    init(_ script: String) throws {
        path = try Self.folder.get().file(UUID().uuidString)
        try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    var options: SSHOptions {
        var options = SSHOptions()
        options.program = path
        return options
    }

    func remote(
        timeout: Duration? = nil, store: StoreID? = SimulatedReplica.store
    ) -> SSHRemote {
        var options = options
        options.timeout = timeout
        let address = SSHAddress(user: "me", host: "host", port: 22, path: "/srv/my store.db")
        return SSHRemote(address, store: store, options: options)
    }

    /// Copies bytes between stdin, stdout and a socket; ends after a given number of bytes.
    static let bridge = """
        import os, socket, sys, threading
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        def send():
            while True:
                data = os.read(0, 65536)
                if not data: break
                s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        threading.Thread(target=send, daemon=True).start()
        left = int(sys.argv[2]) if len(sys.argv) > 2 else -1
        while True:
            data = s.recv(65536)
            if not data: break
            if 0 <= left <= len(data):
                os.write(1, data[:left])
                os._exit(1)
            left -= len(data)
            while data: data = data[os.write(1, data):]
        """
}

/// Serves a replica on a socket, as `synctool serve --stdio` does.
final class ServedReplica: Sendable {
    let folder: TemporaryFolder
    let socket: String
    private let descriptor: Int32

    init(_ replica: some Replica, isReadOnly: Bool = false) async throws {
        folder = try TemporaryFolder()
        socket = folder.path + "/s"
        descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let status = Self.with(address: socket) { [descriptor] in bind(descriptor, $0, $1) }
        guard status == 0, listen(descriptor, 16) == 0 else { throw CocoaError(.fileWriteUnknown) }
        let server = try await StoreServer(replica, isReadOnly: isReadOnly)
        let listening = descriptor
        Thread.detachNewThread {
            while true {
                let accepted = accept(listening, nil, nil)
                guard accepted >= 0 else { return }
                Task {
                    await server.run(input: accepted, output: accepted)
                    close(accepted)
                }
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    /// Sends `bytes` to the server without the protocol.
    /// - Returns: what the server answered until it closed, or sent nothing for ten seconds.
    func send(_ bytes: [UInt8]) throws -> [UInt8] {
        let client = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(client) }
        guard Self.with(address: socket, { Glibc.connect(client, $0, $1) }) == 0 else {
            throw CocoaError(.fileReadUnknown)
        }
        // First the greeting: a socket that is closed with unread bytes takes it back.
        var part = [UInt8](repeating: 0, count: 4096)
        var wait = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
        var answer: [UInt8] = []
        if poll(&wait, 1, 10_000) == 1 {
            let count = recv(client, &part, part.count, 0)
            answer += part[..<max(0, count)]
        }
        _ = bytes.withUnsafeBytes {
            Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        shutdown(client, Int32(SHUT_WR))
        while poll(&wait, 1, 10_000) == 1 {
            let count = part.withUnsafeMutableBytes { recv(client, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { break }
            answer += part[..<count]
        }
        return answer
    }

    private static func with(
        address path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// The command of the fake ssh.
    var connect: String {
        "exec python3 -c '\(FakeSSH.bridge)' '\(socket)'"
    }
}
