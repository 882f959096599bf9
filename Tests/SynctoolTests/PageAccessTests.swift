import NIOHTTP1
import Testing

@testable import synctool

/// Who may use the page of `synctool ui`.
@Suite("Access to the page")
struct PageAccessTests {
    private let access = PageAccess(token: String(repeating: "0f", count: 32), port: 8400)

    private func request(_ headers: [(String, String)]) -> HTTPRequest {
        HTTPRequest(method: .POST, target: "/api/stores", headers: HTTPHeaders(headers), body: [])
    }

    @Test func everyPageHasATokenOfItsOwn() {
        let tokens = (0..<100).map { _ in PageAccess(port: 1).token }
        #expect(Set(tokens).count == 100)
        #expect(tokens.allSatisfy { $0.count == 64 && $0.allSatisfy(\.isHexDigit) })
        #expect(access.url(port: 8400) == "http://127.0.0.1:8400/#" + access.token)
    }

    @Test(arguments: ["127.0.0.1:8400", "localhost:8400", "LOCALHOST:8400"])
    func itsOwnNamesAreAnswered(host: String) {
        #expect(access.isAddressed(by: request([("Host", host)])))
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:8401", "evil.example:8400", "127.0.0.1:8400.evil.example",
        "[::1]:8400", "0.0.0.0:8400", "", " 127.0.0.1:8400",
    ])
    func otherNamesAreNot(host: String) {
        #expect(!access.isAddressed(by: request([("Host", host)])))
    }

    @Test func oneHostIsNamed() {
        #expect(!access.isAddressed(by: request([])))
        let two = request([("Host", "127.0.0.1:8400"), ("host", "evil.example")])
        #expect(!access.isAddressed(by: two))
    }

    @Test func onlyTheTokenPermits() {
        let right = ("Authorization", "Bearer " + access.token)
        #expect(access.permits(request([right])))
        #expect(access.permits(request([right, ("Origin", "http://localhost:8400")])))
        #expect(!access.permits(request([])))
        for wrong in [
            "", access.token, "Bearer ", "Bearer \(access.token)0", "bearer \(access.token)",
        ] {
            #expect(!access.permits(request([("Authorization", wrong)])), "\(wrong)")
        }
        #expect(!access.permits(request([right, right])), "two readers may see different ones")
        for origin in ["null", "http://evil.example", "https://127.0.0.1:8400", "http://127.0.0.1"]
        {
            #expect(!access.permits(request([right, ("Origin", origin)])), "\(origin)")
            #expect(access.isForeign(request([right, ("Origin", origin)])), "\(origin)")
        }
        #expect(!access.isForeign(request([])), "it is the token that is missing")
        #expect(!access.isForeign(request([("Origin", "http://localhost:8400")])))
        let two = [("Origin", "http://localhost:8400"), ("Origin", "http://evil.example")]
        #expect(access.isForeign(request(two)) && !access.permits(request([right] + two)))
    }

    @Test func textsAreComparedWhole() {
        #expect(PageAccess.isEqual("abc".utf8, "abc".utf8))
        #expect(PageAccess.isEqual("".utf8, "".utf8))
        for other in ["abd", "bbc", "ab", "abcd", ""] {
            #expect(!PageAccess.isEqual("abc".utf8, other.utf8), "\(other)")
        }
    }

    @Test func everyFileIsThere_andNothingElse() {
        for path in ["/", "/page.css", "/page.js", "/icon.svg", "/timeline.js"] {
            #expect(PageAssets.reply(to: path) != nil, "\(path)")
        }
        for path in ["", "/index.html", "/../page.js", "/page.js?x=1", "/Page.js"] {
            #expect(PageAssets.reply(to: path) == nil, "\(path)")
        }
    }
}
