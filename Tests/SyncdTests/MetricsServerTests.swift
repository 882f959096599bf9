import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

@testable import syncd

/// `GET /metrics`: what is answered, and to whom.
@Suite(.timeLimit(.minutes(5))) struct MetricsServerTests {
    /// A daemon with metrics at `m.sock` and, if asked for, at a port.
    private func start(
        _ keys: String, in directory: TemporaryFolder, user: UInt32? = nil
    ) async throws -> TestDaemon {
        try "metrics: {\(keys)}\n".write(
            toFile: directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        if let user { chown(directory.file("syncd.yaml"), user, user) }
        return try await TestDaemon(in: directory, user: user)
    }

    /// Sends bytes to a Unix socket, or a port, and gives all that comes back.
    private func ask(
        _ address: String, _ request: String, user: UInt32? = nil
    ) throws -> String {
        let program = """
            import socket, sys
            a = sys.argv[1]
            s = socket.socket(socket.AF_UNIX if a.startswith('/') else socket.AF_INET)
            s.settimeout(60)
            s.connect(a if a.startswith('/') else ('127.0.0.1', int(a)))
            s.sendall(sys.argv[2].encode())
            b = b''
            try:
                while True:
                    part = s.recv(65536)
                    if not part: break
                    b += part
            except ConnectionResetError:
                pass
            sys.stdout.write(b.decode())
            """
        let python = ["/usr/bin/python3", "-c", program, address, request]
        let asUser = user.map { ["--reuid", "\($0)", "--regid", "\($0)", "--clear-groups"] }
        let ended =
            try asUser.map { try run("/usr/bin/setpriv", $0 + python) }
            ?? run(python[0], Array(python.dropFirst()))
        guard ended.status == 0 else { throw Failure(ended.errors) }
        return ended.output
    }

    private func get(
        _ path: String = "/metrics", method: String = "GET", host: String = "localhost",
        more: String = ""
    ) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n\(more)\r\n"
    }

    @Test func theSocketAnswersInBothFormats() async throws {
        let directory = try TemporaryFolder()
        let socket = directory.file("m.sock")
        let daemon = try await start("socket: \(socket)", in: directory)
        let store = try await daemon.makeStore()
        try sqlite3(store, "INSERT INTO Album VALUES (1, 't', 1)")
        try await eventually("the commit is counted") {
            let number = try await daemon.client.head(store).number
            return try ask(socket, get()).contains(
                "\nsyncd_transactions_total{store=\"\(store)\"} \(number)\n")
        }
        let answer = try ask(socket, get())
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("content-type: text/plain; version=0.0.4; charset=utf-8"))
        #expect(answer.contains("\nsyncd_store_up{store=\"\(store)\"} 1\n"))
        let other = try ask(
            socket, get(more: "Accept: application/openmetrics-text;version=1.0.0\r\n"))
        #expect(other.hasSuffix("# EOF\n") && other.contains("application/openmetrics-text"))
        // The command prints the same metrics.
        let printed = try run(
            Programs.synctool.path, ["metrics"], environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(printed.output.contains("\nsyncd_store_up{store=\"\(store)\"} 1\n"))
        let file = directory.file("syncd.prom")
        let written = try run(
            Programs.synctool.path, ["metrics", "--totals", "--output", file],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(written.status == 0 && written.output.isEmpty, "\(written)")
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("\nsyncd_store_up 1\n"))
        // A link, as /dev/stdout, is not replaced.
        symlink(file, directory.file("link"))
        let refused = try run(
            Programs.synctool.path, ["metrics", "--output", directory.file("link")],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(refused.status == 64 && refused.errors.contains("not a file"), "\(refused)")
        var status = stat()
        #expect(lstat(directory.file("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(daemon.stop() == 0)
        #expect(!FileManager.default.fileExists(atPath: socket))
        let down = try run(
            Programs.synctool.path, ["metrics", "--output", file],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(down.status == 69, "\(down)")
        let left = try String(contentsOfFile: file, encoding: .utf8)
        #expect(left.contains("\nsyncd_up 0\n") && !left.contains("store_up"), "\(left)")
    }

    @Test func whatIsNoRequestForMetricsIsRefused() async throws {
        let directory = try TemporaryFolder()
        let socket = directory.file("m.sock")
        let daemon = try await start("socket: \(socket)", in: directory)
        #expect(try ask(socket, get("/")).hasPrefix("HTTP/1.1 404"))
        #expect(try ask(socket, get("/metricsX")).hasPrefix("HTTP/1.1 404"))
        #expect(try ask(socket, get(method: "DELETE")).hasPrefix("HTTP/1.1 405"))
        #expect(try ask(socket, get("/metrics?x=1")).hasPrefix("HTTP/1.1 200"))
        let head = try ask(socket, get(method: "HEAD"))
        #expect(head.hasPrefix("HTTP/1.1 200") && head.hasSuffix("\r\n\r\n"))
        #expect(!(try ask(socket, "nonsense\r\n\r\n").hasPrefix("HTTP/1.1 200")))
        let long = String(repeating: "x", count: 100_000)
        #expect(!(try ask(socket, get(more: "X-Long: \(long)\r\n")).hasPrefix("HTTP/1.1 200")))
        #expect(try ask(socket, get()).hasPrefix("HTTP/1.1 200"))
        #expect(daemon.isRunning)
    }

    @Test(.enabled(if: getuid() == 0, "only root can be somebody else"))
    func storesAreNamedToThoseWhoMayReadThem() async throws {
        for (stores, isNamed) in [("permitted", false), ("all", true), ("none", false)] {
            let directory = try TemporaryFolder()
            chmod(directory.path, 0o755)
            let socket = directory.file("m.sock")
            let daemon = try await start(
                "socket: \(socket), socketMode: 0666, stores: \(stores)", in: directory)
            let store = try await daemon.makeStore()
            chmod(store, 0o600)
            let answer = try ask(socket, get(), user: 2001)
            #expect(answer.contains(store) == isNamed, "\(stores)")
            #expect(answer.contains("\nsyncd_store_up 1\n") == (stores == "none"), "\(stores)")
            #expect(try ask(socket, get()).contains(store) == (stores != "none"))
            #expect(answer.contains("syncd_clients "))
            withExtendedLifetime(daemon) {}
        }
    }

    /// Over a port nobody is identified, and a page of a browser must not read it.
    @Test func aPortNamesNoStoreAndAnswersThisMachineAlone() async throws {
        for attempt in 1... {
            let directory = try TemporaryFolder()
            let port = Int.random(in: 20_000..<32_000)
            do {
                let daemon = try await start("listen: '127.0.0.1:\(port)'", in: directory)
                let store = try await daemon.makeStore()
                try await eventually("it is counted") {
                    try ask("\(port)", get()).contains("\nsyncd_store_up 1\n")
                }
                #expect(try !ask("\(port)", get()).contains(store))
                let foreign = try ask("\(port)", get(host: "evil.example:\(port)"))
                #expect(foreign.hasPrefix("HTTP/1.1 403"), "\(foreign)")
                #expect(try ask("\(port)", get(host: "[::1]:\(port)")).hasPrefix("HTTP/1.1 200"))
                return
            } catch let failure as Failure
                where failure.description.contains("the daemon ended") && attempt < 5
            {
                // Another program has the port.
                continue
            }
        }
    }

    @Test func onlyLoopbackIsAnAddress() {
        for text in ["127.0.0.1:9186", "localhost:1", "[::1]:65535"] {
            #expect(MetricsOptions.Loopback(text) != nil, "\(text)")
        }
        for text in [
            "0.0.0.0:9186", "9186", ":9186", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:x",
            "example.org:80", "[::]:80", "127.0.0.1:65536",
        ] {
            #expect(MetricsOptions.Loopback(text) == nil, "\(text)")
        }
        #expect(MetricsConnection.isThisMachine("LOCALHOST:80"))
        #expect(MetricsConnection.isThisMachine("[::1]"))
        #expect(!MetricsConnection.isThisMachine("localhost.evil.example"))
        #expect(!MetricsConnection.isThisMachine(""))
    }

    /// What is served by processes of other users is in one answer with the rest.
    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func storesOfWorkersAreThere() async throws {
        for stores in ["permitted", "all", "none"] {
            let folder = try TemporaryFolder()
            chmod(folder.path, 0o755)
            let socket = folder.file("m.sock")
            let scene = try await WorkerScene(
                configuration: "metrics: {socket: \(socket), socketMode: 0666, stores: \(stores)}\n"
            )
            let own = try await scene.daemon.makeStore()
            let all = scene.bobs + [scene.alices, own]
            for store in scene.bobs { try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('x')") }
            try await eventually("the commits are counted: \(scene.daemon.log)") {
                let answer = try ask(socket, get())
                if stores == "none" { return answer.contains("\nsyncd_stores{state=\"open\"} 4\n") }
                for store in all {
                    let number = try await scene.daemon.client.head(store).number
                    let wanted = [
                        "\nsyncd_transactions_total{store=\"\(store)\"} \(number)\n",
                        "\nsyncd_store_up{store=\"\(store)\"} 1\n",
                    ]
                    if !wanted.allSatisfy(answer.contains) { return false }
                }
                return true
            }
            let answer = try ask(socket, get())
            #expect(answer.contains("\nsyncd_workers 2\n"), "\(answer)")
            let bobs = try ask(socket, get(), user: WorkerTests.bob)
            let others = try ask(socket, get(), user: WorkerTests.alice)
            for store in scene.bobs {
                #expect(bobs.contains(store) == (stores != "none"), "\(stores)")
                #expect(others.contains(store) == (stores == "all"), "\(stores)")
            }
        }
    }
}
