import SyncMerge
import SyncRemotes
import Testing

@Suite("Remote address")
struct RemoteAddressTests {
    @Test("the three forms are read, and written as they were")
    func forms() throws {
        let forms: [(String, RemoteAddress)] = [
            ("dir:/srv/shared", .directory(path: "/srv/shared")),
            ("ssh://host/a.db", .ssh(user: nil, host: "host", port: nil, path: "/a.db")),
            ("ssh://me@host:22/a b", .ssh(user: "me", host: "host", port: 22, path: "/a b")),
            ("ssh://me@[::1]:22/a", .ssh(user: "me", host: "[::1]", port: 22, path: "/a")),
            ("ssh://[::1]/a", .ssh(user: nil, host: "[::1]", port: nil, path: "/a")),
            ("https://hub/org/store", .hub(url: "https://hub/org/store")),
        ]
        for (text, address) in forms {
            #expect(try RemoteAddress(text) == address)
            #expect(address.description == text)
        }
    }

    @Test(
        "anything else is refused with the forms that there are",
        arguments: [
            "", "dir:", "dir:relative", "ssh://", "ssh://host", "ssh://host/", "ssh:///a.db",
            "ssh://host:0/a", "ssh://host:99999/a", "ssh://-oProxyCommand=x/a", "ssh://@host/a",
            "ssh://-x@host/a", "http://hub/org/store", "https://", "/a/path",
        ])
    func refusals(text: String) {
        #expect(throws: SyncError(.invalidArgument, "")) { try RemoteAddress(text) }
    }
}
