import SyncClient
import SyncCore

/// Tells the tour: headings, what is run, what came. On a terminal it leaves time to read.
struct Narrator {
    private let terminal = Terminal.output

    func title(_ text: String) throws { try terminal.line(terminal.styled(text, .title)) }

    /// A new act.
    func act(_ number: Int, _ text: String) throws {
        try terminal.line()
        try terminal.line(terminal.styled("\(number). \(text)", .strong))
    }

    func say(_ text: String) throws { try terminal.line("   " + text) }

    /// A command that is run now.
    func command(_ text: String) throws {
        try terminal.line("   " + terminal.styled("$ \(text)", .title))
    }

    /// What the client heard: of a transaction only its head, where a notice tells the rest.
    func heard(_ notices: [Notice]) throws {
        for notice in notices {
            for line in NoticeText().lines(notice) { try terminal.line("   > " + line) }
        }
    }

    func shown(_ lines: [String]) throws {
        for line in lines { try terminal.line("     " + line) }
    }

    /// Time to read, where a person looks.
    func pause(_ time: Duration = .milliseconds(900)) async {
        guard terminal.isInteractive else { return }
        try? await Task.sleep(for: time)
    }
}
