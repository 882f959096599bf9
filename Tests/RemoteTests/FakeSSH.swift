import Foundation
import Glibc
import SyncCore
import SyncRemotes
import SyncTesting
import Synchronization

/// Stands in for `ssh`: a program that gets ssh's arguments, and connects to a store in this
/// process, or misbehaves.
final class FakeSSH: Sendable {
    /// The programs outlive the remotes that run them; they go when the process ends.
    private static let folder: String = {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "syncd-ssh-\(getpid())").path
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        atexit {
            try? FileManager.default.removeItem(
                at: FileManager.default.temporaryDirectory
                    .appending(path: "syncd-ssh-\(getpid())"))
        }
        return path
    }()

    private let path: String

    /// - Parameter script: what the program does, for sh.
    init(_ script: String) throws {
        path = Self.folder + "/" + UUID().uuidString
        try "#!/bin/sh\n\(script)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    var options: SSHOptions {
        var options = SSHOptions()
        options.program = path
        return options
    }

    func remote(silenceMax: Duration? = nil, store: StoreID? = SimulatedReplica.store) throws
        -> SSHRemote
    {
        var options = options
        options.silenceMax = silenceMax
        return try SSHRemote(
            try RemoteAddress("ssh://me@host:22/srv/my store.db"), store: store, options: options)
    }

    /// Carries bytes between its input and output and a socket; breaks after so many bytes.
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

/// Serves a replica to whoever connects to a socket, as `synctool serve --stdio` does.
final class ServedReplica: Sendable {
    let folder: TemporaryFolder
    let socket: String
    private let descriptor: Int32

    init(_ replica: some Replica, isReadOnly: Bool = false) async throws {
        folder = try TemporaryFolder()
        socket = folder.path + "/s"
        descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(socket.utf8)) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
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

    /// What the fake ssh has to run.
    var connect: String {
        "exec python3 -c '\(FakeSSH.bridge)' '\(socket)'"
    }
}
