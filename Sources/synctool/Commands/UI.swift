import ArgumentParser
import SyncClient
import SyncCore

/// `synctool ui`
struct UI: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ui",
        abstract: "Show the daemon's stores in a web browser.",
        discussion: """
            Serves a page on 127.0.0.1 until it is interrupted, and prints its address: stores, \
            a live timeline of transactions with old and new values, the life of an object, \
            consumers, remotes, and conflicts, which it can resolve.

            The page shows what you may see, and resolves what you may write: it runs as you, and \
            the address is its password. Do not pass it on. From another machine: \
            ssh -L 8400:127.0.0.1:8400 HOST synctool ui --port 8400
            """)

    @Option(help: "The port on 127.0.0.1 (0: any free port).")
    var port: Int = 0

    @Option(
        help: ArgumentHelp(
            "Use the daemon at this socket; fail if it does not answer.", valueName: "path"),
        completion: .file())
    var socket: String?

    func validate() throws {
        guard (0...65535).contains(port) else {
            throw ValidationError("--port must be between 0 and 65535.")
        }
    }

    mutating func run() async throws {
        let client = StoreClient(socket: socket)
        // Says at once when there is no daemon.
        _ = try await client.list(within: StoreClient.answerMax)
        let server = try await HTTPServer(port: port, headers: PageAssets.headers)
        let access = PageAccess(port: server.port)
        let page = PageServer(access: access, calls: PageCalls(client: client))
        try Terminal.output.line(access.url(port: server.port))
        try Terminal.error.line("open this address in a browser; Ctrl-C ends it")
        try await server.run { await page.answer($0) }
    }
}
