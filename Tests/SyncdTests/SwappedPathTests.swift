import Foundation
import Glibc
import SyncClient
import SyncTesting
import Testing

/// A user who puts symbolic links and other files in the place of a database of his own, while he
/// calls the daemon, gets nothing of the databases that he may not open. With processes of real
/// users, and a daemon that runs as root: nothing but its own checks keeps it from any file.
@Suite(
    .timeLimit(.minutes(3)), .enabled(if: getuid() == 0, "only root can be somebody else"))
struct SwappedPathTests {
    private static let bob = 2001

    /// The daemon, bob's folder, and a database of somebody else that bob can neither open nor reach.
    private struct Scene {
        let daemon: TestDaemon
        let folder: String
        let victim: String

        init(owner: UInt32) async throws {
            daemon = try await TestDaemon()
            chmod(daemon.directory.path, 0o755)
            chmod(daemon.socket, 0o666)
            folder = daemon.directory.file("bob")
            mkdir(folder, 0o777)
            chown(folder, uid_t(SwappedPathTests.bob), uid_t(SwappedPathTests.bob))
            let closed = daemon.directory.file("closed")
            mkdir(closed, 0o700)
            victim = closed + "/victim.db"
            try sqlite3(
                victim,
                """
                PRAGMA journal_mode = WAL; CREATE TABLE note(id INTEGER PRIMARY KEY, text);
                INSERT INTO note(text) VALUES ('a secret');
                """)
            chmod(victim, 0o600)
            for path in [closed, victim] { chown(path, owner, owner) }
        }
    }

    /// Runs a program in Python as bob, with functions to call the daemon and to swap files.
    private func runAsBob(_ scene: Scene, _ program: String, _ arguments: [String]) throws -> String
    {
        let prelude = """
            import json, os, shutil, socket, sqlite3, sys, time
            sock, folder, victim = sys.argv[1:4]
            own = folder + "/x.db"
            class Daemon:
                def __init__(self):
                    self.s = socket.socket(socket.AF_UNIX); self.s.settimeout(20); self.s.connect(sock)
                def call(self, method, **parameters):
                    m = {"method": "org.syncd.Store." + method, "parameters": parameters}
                    self.s.sendall(json.dumps(m).encode() + b"\\0")
                    b = b""
                    while not b.endswith(b"\\0"):
                        part = self.s.recv(65536)
                        if not part: raise EOFError
                        b += part
                    return b[:-1].decode()
            def make(path):
                c = sqlite3.connect(path)
                c.executescript("create table if not exists note(id integer primary key, text);"
                    "insert into note(text) values('bob')")
                c.commit(); c.close(); os.chmod(path, 0o666)
            def link(path):
                os.symlink(victim, folder + "/link"); os.rename(folder + "/link", path)
            def back(path):
                shutil.copy(folder + "/copy", folder + "/new"); os.chmod(folder + "/new", 0o666)
                os.rename(folder + "/new", path)
            """
        let ended = try run(
            "/usr/bin/setpriv",
            [
                "--reuid", "\(Self.bob)", "--regid", "\(Self.bob)", "--clear-groups",
                "/usr/bin/python3", "-c", prelude + "\n" + program, scene.daemon.socket,
                scene.folder, scene.victim,
            ] + arguments)
        guard ended.status == 0 else { throw Failure(ended.errors) }
        return ended.output
    }

    @Test(arguments: [0, 2002] as [UInt32])
    func aSwappedPathGivesNothingOfAnotherStore(owner: UInt32) async throws {
        let scene = try await Scene(owner: owner)
        let client = scene.daemon.client
        _ = try await client.track(scene.victim)
        try sqlite3(scene.victim, "INSERT INTO note(text) VALUES ('another secret')")
        try await eventually("it is in the history") {
            try await client.count(scene.victim).transactions == 1
        }
        let id = try #require(try await client.status(scene.victim).store.id)
        let output = try runAsBob(
            scene,
            """
            id = sys.argv[4]
            make(own)
            d = Daemon()
            print(d.call("Track", path=own))
            shutil.copy(own, folder + "/copy")
            for number in range(25):
                link(own)
                time.sleep(0.002 * number)
                print(d.call("History", store=own))
                back(own)
                print(d.call("History", store=id))
                print(d.call("Purge", store=id, force=True))
                print(d.call("Purge", store=own, force=True))
                print(d.call("Status", store=id))
            """, ["\(id)"])
        let answers = output.split(separator: "\n")
        #expect(answers.count == 126)
        #expect(!output.contains("secret"))
        #expect(!answers.contains { $0.contains("\"id\":\"\(id)\"") }, "its status")
        #expect(try await client.count(scene.victim).transactions == 1, "nothing was purged")
        #expect(scene.daemon.isRunning)
    }

    @Test func aDatabaseOfSomebodyElseIsNotTrackedByASwap() async throws {
        let scene = try await Scene(owner: 2002)
        let output = try runAsBob(
            scene,
            """
            import threading
            make(own)
            shutil.copy(own, folder + "/copy")
            end = time.time() + 6
            def swap():
                while time.time() < end:
                    link(own); back(own)
            thread = threading.Thread(target=swap); thread.start()
            d = Daemon(); outcomes = {}
            while time.time() < end:
                answer = json.loads(d.call("Track", path=own))
                name = answer.get("error", "ok").split(".")[-1]
                outcomes[name] = outcomes.get(name, 0) + 1
            thread.join()
            print(json.dumps(outcomes))
            """, [])
        #expect(output.contains("NotAllowed"), "the race was run: \(output)")
        let objects = try sqlite3(
            scene.victim, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'syncd%'")
        #expect(objects == "0")
        #expect(scene.daemon.isRunning)
    }
}
