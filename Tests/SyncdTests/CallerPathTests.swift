import Foundation
import Glibc
import SyncClient
import SyncStorage
import SyncTesting
import Testing
import Varlink

@testable import syncd

/// A path is resolved as its caller could resolve it: where links lead that it may not follow is
/// not told.
@Suite(.timeLimit(.minutes(3)), .enabled(if: getuid() == 0, "only root can be somebody else"))
struct CallerPathTests {
    private let folder: TemporaryFolder
    private let root: String
    private let bob = PeerIdentity(pid: 1, uid: 2001, gid: 2001, groups: [])
    private let admin = PeerIdentity(pid: 1, uid: 0, gid: 0, groups: [])

    init() throws {
        folder = try TemporaryFolder()
        root = PathResolution.resolved(folder.path)
        chmod(root, 0o755)
        for (name, mode) in [("open", 0o755), ("closed", 0o700)] {
            mkdir(root + "/" + name, 0o700)
            chmod(root + "/" + name, mode_t(mode))
            try "x".write(toFile: root + "/\(name)/a.db", atomically: true, encoding: .utf8)
        }
        symlink(root + "/open/a.db", root + "/absolute")
        symlink("open/../open/./a.db", root + "/relative")
        symlink("closed/a.db", root + "/inside")
        symlink("../open/a.db", root + "/closed/link")
        symlink("circle", root + "/circle")
    }

    private func resolved(_ name: String, _ peer: PeerIdentity) -> String? {
        CallerPath.resolved(root + "/" + name, for: peer)
    }

    @Test func linksOnTheWayAreFollowed() {
        for name in ["open/a.db", "absolute", "relative", "open/..//open/a.db"] {
            #expect(resolved(name, bob) == root + "/open/a.db", "\(name)")
            #expect(PathResolution.resolved(root + "/" + name) == root + "/open/a.db")
        }
        #expect(resolved("open/new.db", bob) == root + "/open/new.db")
        #expect(resolved("nowhere/new.db", bob) == root + "/nowhere/new.db")
        #expect(CallerPath.resolved("relative.db", for: bob) == "relative.db")
        #expect(CallerPath.resolved("/", for: bob) == "/")
    }

    @Test func nothingIsToldOfAFolderThatTheCallerMayNotSearch() {
        for name in ["closed/a.db", "closed/none.db", "closed/link", "inside"] {
            #expect(resolved(name, bob) == nil, "\(name)")
        }
        #expect(resolved("closed/link", admin) == root + "/open/a.db")
        #expect(resolved("inside", admin) == root + "/closed/a.db")
    }

    /// A combining mark makes one character with the slash before it, and is a name to the system.
    @Test func aNameThatBeginsWithACombiningMarkHidesNoFolder() throws {
        let name = "\u{301}b.db"
        for place in ["open", "closed"] {
            try "x".write(toFile: root + "/\(place)/" + name, atomically: true, encoding: .utf8)
        }
        symlink(root + "/closed", root + "/\u{301}link")
        #expect(resolved("open/" + name, bob) == root + "/open/" + name)
        for hidden in ["closed/" + name, "\u{301}link/" + name, "closed/../closed/" + name] {
            #expect(resolved(hidden, bob) == nil, "\(hidden)")
        }
    }

    @Test func circlesAndLinksOfProcLeadNowhere() {
        #expect(resolved("circle", bob) == nil)
        let descriptor = open(root + "/closed/a.db", O_RDONLY)
        defer { close(descriptor) }
        for path in [
            "/proc/self/fd/\(descriptor)", "/proc/\(getpid())/fd/\(descriptor)",
            "/proc/self/exe", "/proc/\(getpid())/cwd/x",
        ] {
            #expect(CallerPath.resolved(path, for: bob) == nil, "\(path)")
        }
    }

    @Test func anErrorNamesNoFileThatTheDaemonHasOpen() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore("secret.db")
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o666)
        chmod(store, 0o600)
        let user = try OtherUser(
            2001,
            """
            d = Daemon(sys.argv[1])
            pid = sys.argv[2]
            for base in ["self", pid]:
                for n in range(3, 40):
                    for name in ["fd/%d" % n, "cwd/x", "exe"]:
                        for method, key in [("Track", "path"), ("Status", "store")]:
                            path = "/proc/%s/%s" % (base, name)
                            answer = json.loads(d.call(method, **{key: path}))
                            said = answer.get("parameters", {})
                            if "error" not in answer or said.get("path", path) != path \\
                                    or "secret" in json.dumps(said):
                                say(path, said)
            say("done")
            """, daemon, ["\(daemon.pid)"])
        try await user.prints("done")
        #expect(user.lines == ["done"])
        #expect(daemon.stop() == 0)
    }
}
