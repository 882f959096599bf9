import ArgumentParser
import SyncCore

/// `synctool show DB OBJECT`
struct Show: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the values of an object, now or at an earlier position.",
        discussion: """
            --at takes the number of a transaction, a token or a date (yesterday, -2h, '3 days \
            ago', 2026-01-31; local time without a zone): the values just after it. \
            Properties that were updated since have their values only where old values are kept \
            (synctool track --undo). The exit status is 1 if the object did not exist.

            Example: synctool show music.db Album/348 --at yesterday

            \(FileCommandHelp.note)
            """)

    @OptionGroup var arguments: ObjectArguments
    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOptions
    var database: String? { arguments.path }

    mutating func run() async throws {
        let found = try arguments.read { try $0.object($1, asOf: $2) }
        let (name, past) = (found.name, found.content)
        if output.isJSON {
            try Terminal.output.json(PastText.json(past, of: name, at: found.token))
        } else {
            guard past.isPresent else {
                throw SyncError.absent(name, at: found.token)
            }
            try pager.start(asJSON: false)
            for line in PastText.lines(past) { try Terminal.output.line(line) }
        }
        if !past.isPresent { throw ExitCode(1) }
    }
}

extension SyncError {
    /// An object that did not exist at a position.
    static func absent(_ name: ObjectName, at token: Token) -> SyncError {
        SyncError(
            .unknownObject, "\(name.path) did not exist at #\(token.number)",
            hint: "To see what is known of it: synctool history DB --object "
                + Shell.quoted(name.path))
    }
}
