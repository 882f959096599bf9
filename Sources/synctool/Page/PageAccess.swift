/// Who may use the page: who has the token, through an address of this machine.
///
/// The page runs with the rights of the user who started it, and so do all who get in. What it
/// defends against is in `docs/threat-model.md`: other users of the machine, who can connect to the
/// loopback device, and pages of other sites in the same browser.
struct PageAccess: Sendable {
    /// 256 bits from the kernel, in hexadecimal: nobody guesses it.
    let token: String
    private let hosts: Set<String>

    /// - Parameter port: the port that the page is served at: part of the names that it has.
    init(port: Int) {
        var random = SystemRandomNumberGenerator()
        self.init(
            token: (0..<4).map { _ in
                let digits = String(random.next() as UInt64, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined(), port: port)
    }

    init(token: String, port: Int) {
        self.token = token
        hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    }

    /// The address to open. The token is behind the `#`: browsers send that part to no server, and
    /// in no `Referer`.
    func url(port: Int) -> String { "http://127.0.0.1:\(port)/#\(token)" }

    /// Whether a request is for this page. A site whose name was made to point to 127.0.0.1 (DNS
    /// rebinding) has its own name in `Host`.
    func isAddressed(by request: HTTPRequest) -> Bool {
        request.header("Host").map { hosts.contains($0.lowercased()) } ?? false
    }

    /// Whether the browser says that a call comes from a page of another origin, or of several.
    func isForeign(_ request: HTTPRequest) -> Bool {
        guard request.headers.contains(name: "Origin") else { return false }
        let origin = request.header("Origin")
        return !hosts.contains { origin == "http://" + $0 }
    }

    /// Whether a call comes from the page itself: it has the token in a header, which no other site
    /// can set without permission, and the browser, where it says so, names no other origin.
    func permits(_ request: HTTPRequest) -> Bool {
        if isForeign(request) { return false }
        guard let given = request.header("Authorization"), given.hasPrefix("Bearer ") else {
            return false
        }
        return Self.isEqual(given.dropFirst("Bearer ".count).utf8, token.utf8)
    }

    /// Compares in a time that depends on the lengths alone.
    static func isEqual(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(left, right) { difference |= one ^ other }
        return difference == 0
    }
}
