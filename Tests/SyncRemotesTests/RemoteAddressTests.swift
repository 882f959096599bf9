import SyncMerge
import SyncRemotes
import Testing

@Suite("Remote address")
struct RemoteAddressTests {
    @Test("both forms are read, and written as they were")
    func forms() throws {
        let forms: [(String, RemoteAddress)] = [
            ("dir:/srv/shared", .directory(path: "/srv/shared")),
            ("ssh://host/a.db", ssh("host", path: "/a.db")),
            ("ssh://me@host:22/a b", ssh("host", user: "me", port: 22, path: "/a b")),
            ("ssh://me@[::1]:22/a", ssh("[::1]", user: "me", port: 22, path: "/a")),
            ("ssh://[::1]/a", ssh("[::1]", path: "/a")),
        ]
        for (text, address) in forms {
            #expect(try RemoteAddress(text) == address)
            #expect(address.description == text)
        }
    }

    private func ssh(
        _ host: String, user: String? = nil, port: Int? = nil, path: String
    ) -> RemoteAddress {
        .ssh(SSHAddress(user: user, host: host, port: port, path: path))
    }

    @Test("a hub is refused as such, and a plain path with the address to write instead")
    func nearMisses() {
        let hub = #expect(throws: SyncError.self) { try RemoteAddress("https://hub/org/store") }
        #expect(hub?.code == .refused && hub?.reason.contains("hub") == true)
        let path = #expect(throws: SyncError.self) { try RemoteAddress("/tmp/x") }
        #expect(path?.hint == "For a folder, use: dir:/tmp/x")
        let relative = #expect(throws: SyncError.self) { try RemoteAddress("dir:x") }
        #expect(relative?.reason.contains("absolute") == true)
    }

    @Test(
        "a password is refused, and not repeated",
        arguments: [
            "ssh://u:hush@host/a", "ssh://u:@host/a", "ssh://u:hush@host:22/a",
            "ssh://u:hush@[::1]/a", "ssh://u:a@hush@host/a", "ssh://u:hu/hush@host/a",
            "ssh://u%3Ahush@host/a", "ssh://u%3ahush@host/a", "ssh://u:hush@host", "u:hush@host:/a",
            "http://u:hush@hub/org",
            "https://u:hush@hub/org", "ssh:/u:hush@host/a",
        ])
    func passwords(text: String) {
        let error = #expect(throws: SyncError.self) { try RemoteAddress(text) }
        #expect(error.map { !"\($0)".contains("hush") } == true)
        if text.hasPrefix("ssh://") {
            #expect(error?.code == .invalidArgument)
            #expect(error?.reason.contains("password") == true)
        }
    }

    @Test(
        "what only looks like a password is none",
        arguments: [
            "ssh://me@host/a:b@c", "ssh://host:22/a:b@c", "ssh://me@[::1]:22/a@b", "dir:/a:b@c",
            "ssh://[::1]/a:b@c", "ssh://host/a@b",
        ])
    func noPasswords(text: String) throws {
        #expect(try RemoteAddress(text).description == text)
    }

    @Test(
        "anything else is refused with the valid forms",
        arguments: [
            "", "dir:", "dir:relative", "ssh://", "ssh://host", "ssh://host/", "ssh:///a.db",
            "ssh://host:0/a", "ssh://host:99999/a", "ssh://-oProxyCommand=x/a", "ssh://@host/a",
            "ssh://-x@host/a", "http://hub/org/store", "https://", "/a/path",
        ])
    func refusals(text: String) {
        #expect(throws: SyncError(.invalidArgument, "")) { try RemoteAddress(text) }
    }
}
