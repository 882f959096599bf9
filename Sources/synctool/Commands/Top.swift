import ArgumentParser
import Dispatch
import Glibc
import SyncClient
import SyncCore

/// `synctool top`
struct Top: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the busiest stores, updated every second.",
        discussion: """
            Commits and notices per second, the mean time from a noticed commit to its notice, \
            subscriptions, what the slowest remote lacks (transactions, for how long), open \
            conflicts. Press q to quit. --once prints one snapshot, taken over one second, and \
            exits.
            """)

    /// The time between two pictures.
    private static let interval = Duration.seconds(1)
    private static let intervalMilliseconds: Int32 = 1000
    /// The width of what is not shown on a terminal.
    private static let plainWidth = 200

    @Flag(help: "Print one snapshot and exit.") var once = false

    @Option(
        help: ArgumentHelp(
            "Use the daemon at this socket; fail if it does not answer.", valueName: "path"),
        completion: .file())
    var socket: String?

    mutating func run() async throws {
        let client = StoreClient(socket: socket)
        var before = try await client.overview(within: StoreClient.answerMax)
        var time = ContinuousClock.now
        if once || !Terminal.output.isInteractive {
            try await Task.sleep(for: Self.interval)
            let screen = TopScreen(
                try await client.overview(within: StoreClient.answerMax), after: before,
                elapsed: .now - time)
            let width = Terminal.output.isInteractive ? Self.size.width : Self.plainWidth
            for line in screen.lines(width: width, height: nil) { try Terminal.output.line(line) }
            return
        }
        guard let keys = KeyPress() else {
            throw SyncError(
                .invalidArgument, "standard input is not a terminal",
                hint: "Run: synctool top --once")
        }
        // The alternate screen: what was there before is there again afterwards.
        try Terminal.output.write("\u{1B}[?1049h\u{1B}[?25l")
        defer { Self.leave(keys) }
        let endings = Self.endings(restoring: keys)
        defer { endings.forEach { $0.cancel() } }
        var screen = TopScreen(before, after: nil, elapsed: Self.interval)
        var absence: SyncError?
        while true {
            try draw(screen, whileAbsent: absence)
            if let key = keys.next(within: Self.intervalMilliseconds), Self.ends(key) { return }
            do {
                let overview = try await client.overview(within: StoreClient.answerMax)
                let now = ContinuousClock.now
                screen = TopScreen(overview, after: before, elapsed: now - time)
                (before, time, absence) = (overview, now, nil)
            } catch let error as SyncError where error.code == .unreachable {
                // It is restarted, as for an upgrade: the last picture stays.
                absence = error
            }
        }
    }

    /// What ends the process by a signal leaves the terminal as it was, too.
    private static func endings(
        restoring keys: KeyPress
    ) -> [any DispatchSourceSignal] {
        [SIGTERM, SIGHUP].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                leave(keys)
                _exit(128 + number)
            }
            source.activate()
            return source
        }
    }

    private static func leave(_ keys: KeyPress) {
        try? Terminal.output.write("\u{1B}[?25h\u{1B}[?1049l")
        keys.restore()
    }

    private func draw(_ screen: TopScreen, whileAbsent error: SyncError?) throws {
        let (width, height) = Self.size
        var lines = screen.lines(width: width, height: height - 1)
        if let error {
            let text = Printable.text("\(error.reason); trying again", width: width)
            lines[0] = Terminal.output.styled(text, as: .gone)
        }
        // From the top left, each line to its end, then what is below: nothing flickers.
        try Terminal.output.write(
            "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
    }

    /// q, Q, Ctrl-C, Ctrl-D
    private static func ends(_ key: UInt8) -> Bool {
        [UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains(key)
    }

    private static var size: (width: Int, height: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), max(5, Int(size.ws_row)))
    }
}
