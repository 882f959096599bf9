import Foundation
import Glibc
import Testing

/// Callers that are somebody else: what they could not open does not exist for them.
@Suite(
    .enabled(if: getuid() == 0, "only root can be somebody else"), .timeLimit(.minutes(3)))
struct PermissionTests {
    /// Sends one call as `uid` and gives the answer.
    private func call(
        _ daemon: TestDaemon, uid: Int, _ method: String, _ parameters: String
    ) throws -> String {
        let program = """
            import socket, sys
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
            s.sendall(('{"method":"org.syncd.Store.%s","parameters":%s}' % (sys.argv[2], sys.argv[3])).encode() + b'\\0')
            b = b''
            while not b.endswith(b'\\0'): b += s.recv(65536)
            print(b[:-1].decode())
            """
        let ended = try run(
            "/usr/bin/setpriv",
            [
                "--reuid", "\(uid)", "--regid", "\(uid)", "--clear-groups", "/usr/bin/python3",
                "-c",
                program, daemon.socket, method, parameters,
            ])
        guard ended.status == 0 else { throw Failure(ended.errors) }
        return ended.output
    }

    @Test func aCallerSeesAndChangesOnlyWhatItCouldOpen() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o666)
        let store = try await daemon.makeStore()
        let name = #"{"store":"\#(store)"}"#
        chmod(store, 0o600)
        #expect(try call(daemon, uid: 2001, "List", "{}").contains(#""stores":[]"#))
        #expect(try call(daemon, uid: 2001, "Status", name).contains("UnknownStore"))
        #expect(try call(daemon, uid: 2001, "Untrack", name).contains("UnknownStore"))
        #expect(
            try call(daemon, uid: 2001, "Track", #"{"path":"\#(store)"}"#).contains("NotAllowed"))
        chmod(store, 0o644)
        #expect(try call(daemon, uid: 2001, "List", "{}").contains("music.db"))
        #expect(try call(daemon, uid: 2001, "History", name).contains("transactions"))
        for method in ["Untrack", "Purge"] {
            let answer = try call(daemon, uid: 2001, method, name)
            #expect(
                answer.contains("NotAllowed") && answer.contains("uid 2001 may not write"),
                "\(answer)")
        }
        chown(store, 2001, 2001)
        #expect(try call(daemon, uid: 2001, "Purge", name).contains(#""transactions":"#))
        #expect(daemon.isRunning)
    }

    @Test func aSocketOfOthersIsAPermissionAndNotASilentDaemon() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o600)
        let store = try await daemon.makeStore()
        let ended = try run(
            "/usr/bin/setpriv",
            [
                "--reuid", "2001", "--regid", "2001", "--clear-groups", Programs.synctool.path,
                "history", store, "--socket", daemon.socket,
            ])
        #expect(ended.status == 77, "\(ended.errors)")
        #expect(ended.errors.contains("permission to connect to the daemon is denied"))
    }

    @Test func subscriptionsOfOthersCannotBeChanged() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o666)
        let store = try await daemon.makeStore()
        let raw = try RawSocket(daemon.socket)
        raw.write(
            #"{"method":"org.syncd.Store.Subscribe","more":true,"parameters":{"store":"\#(store)"}}"#
                + "\0")
        let first = try #require(raw.message())
        let name = try #require(
            first.split(separator: "\"").drop { $0 != "subscription" }.dropFirst(2).first)
        let hold = #"{"subscription":"\#(name)","objects":["Artist/1"]}"#
        #expect(try call(daemon, uid: 2001, "Hold", hold).contains("InvalidArgument"))
        #expect(try call(daemon, uid: 0, "Hold", hold).contains(#""present":true"#))
    }

    /// What is committed after the permission is gone does not reach the subscriber.
    @Test func aSubscriptionEndsWithThePermission() async throws {
        let daemon = try await TestDaemon()
        chmod(daemon.directory.path, 0o755)
        chmod(daemon.socket, 0o666)
        let store = try await daemon.makeStore()
        for round in 0..<5 {
            chmod(store, 0o644)
            let reader = try OtherUser(
                2001,
                """
                feed = Daemon(sys.argv[1]); feed.send("Subscribe", more=True, store=sys.argv[2])
                feed.receive(); say("subscribed")
                while True:
                    answer = feed.receive()
                    if '"transaction":' in answer: say("a notice")
                    if '"error":' in answer: break
                say(answer); say("ended")
                """, daemon, [store])
            try await reader.prints("subscribed")
            try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('open')")
            try await reader.prints("a notice")
            chmod(store, 0o600)
            try sqlite3(store, "INSERT INTO Artist(Name) VALUES ('secret')")
            try await reader.prints("ended")
            let notices = reader.lines.filter { $0 == "a notice" }
            #expect(notices.count == 1, "round \(round): \(reader.lines)")
            #expect(reader.lines.contains { $0.contains("UnknownStore") }, "\(reader.lines)")
        }
    }
}
