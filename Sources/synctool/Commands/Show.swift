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

    @Argument(help: ArgumentHelp("The database file.", valueName: "db"))
    var path: String

    @Argument(help: ArgumentHelp("The object, from synctool history.", valueName: "entity/key"))
    var object: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "As it was at this position: a number, a token or a date.", valueName: "position"))
    var at: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOptions
    var database: String? { path }

    mutating func run() async throws {
        let name = try ObjectName(path: object)
        let position = try at.map { try Position(option: "--at", value: $0) }
        let (token, past) = try LocalStore.with(path) { store in
            let token = try position?.token(in: store) ?? store.head()
            let past = try store.object(name, asOf: token)
            if let note = try position?.note(in: store) {
                try Terminal.error.line("\(path): \(note)")
            }
            return (token, past)
        }
        if output.isJSON {
            try Terminal.output.json(PastText.json(past, of: name, at: token))
        } else {
            guard past.isPresent else {
                throw SyncError.absent(name, at: token)
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
