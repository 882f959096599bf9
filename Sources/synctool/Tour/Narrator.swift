import SyncClient
import SyncCore

/// Prints the tour: headings, commands, notices. Pauses on a terminal.
struct Narrator {
    private let terminal = Terminal.output

    func title(_ text: String) throws { try terminal.line(terminal.styled(text, as: .title)) }

    /// The heading of an act.
    func act(_ number: Int, title text: String) throws {
        try terminal.line()
        try terminal.line(terminal.styled("\(number). \(text)", as: .strong))
    }

    func say(_ text: String) throws { try terminal.line("   " + text) }

    /// A command that is run next.
    func command(_ text: String) throws {
        try terminal.line("   " + terminal.styled("$ \(text)", as: .title))
    }

    /// The notices that the client received.
    func received(_ notices: [Notice]) throws {
        for notice in notices {
            for line in NoticeText().lines(notice) { try terminal.line("   > " + line) }
        }
    }

    func shown(_ lines: [String]) throws {
        for line in lines { try terminal.line("     " + line) }
    }

    /// Time to read, on a terminal only.
    func pause(_ time: Duration = .milliseconds(900)) async {
        guard terminal.isInteractive else { return }
        try? await Task.sleep(for: time)
    }
}
