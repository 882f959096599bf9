import ArgumentParser
import SyncCore

/// `synctool diff DB FROM [TO]`
struct Diff: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show how the objects of two positions in history differ.",
        discussion: """
            A position is the number of a transaction, a token or a date, and means the state just \
            after it; 0 is the state before the first transaction. An object that was changed and \
            changed back is not shown. Old values are shown where they are kept (synctool track \
            --undo).

            Example: synctool diff music.db -2h

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Argument(
        parsing: .allUnrecognized,
        help: ArgumentHelp(
            "The first position, and the second one (default: now).", valueName: "position"))
    var positions: [String] = []

    @OptionGroup var output: OutputOptions
    @OptionGroup var pager: PagerOptions
    var database: String? { path }

    func validate() throws {
        if let option = positions.first(where: { $0.hasPrefix("--") }) {
            throw ValidationError("Unknown option '\(option)'")
        }
        guard 1...2 ~= positions.count else {
            throw ValidationError(
                "Name one or two positions: synctool diff \(Shell.quoted(path)) FROM [TO]")
        }
    }

    mutating func run() async throws {
        let positions = try zip(["FROM", "TO"], positions).map {
            try Position(option: $0, value: $1)
        }
        let difference = try LocalStore.with(path) { store in
            let from = try positions[0].token(in: store)
            let to = try positions.count > 1 ? positions[1].token(in: store) : store.head()
            guard from.number <= to.number else {
                throw SyncError(
                    .invalidArgument, "position #\(from.number) is after position #\(to.number)",
                    hint: "Name the earlier position first")
            }
            if let note = try positions[0].note(in: store) {
                try Terminal.error.line("\(path): \(note)")
            }
            return try store.difference(from: from, to: to)
        }
        try pager.start(asJSON: output.isJSON)
        for object in difference.objects {
            if output.isJSON {
                try Terminal.output.json(PastText.json(object))
            } else {
                try Terminal.output.line(PastText.line(object))
            }
        }
        for entity in difference.untracked {
            try Terminal.error.line("\(path): \(Printable.text(entity)) is not tracked any more")
        }
        if difference.objects.isEmpty, !output.isJSON {
            let scope = difference.untracked.isEmpty ? "" : " in the tables that are tracked"
            try Terminal.error.line("\(path): no difference\(scope)")
        }
    }
}
