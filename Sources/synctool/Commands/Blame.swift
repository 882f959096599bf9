import ArgumentParser
import SyncCore
import SyncReplica

/// `synctool blame DB OBJECT`
struct Blame: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show which transaction and author each value of an object is from.",
        discussion: """
            One line for each property: its value, and the number, time and author of the \
            transaction that wrote it. A value from before the history, or whose transaction was \
            purged, has none. --at shows the values of an earlier position. The exit status is 1 \
            if the object did not exist.

            Example: synctool blame music.db Album/348

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
    @OptionGroup var time: TimeOptions
    @OptionGroup var pager: PagerOptions
    var database: String? { path }

    mutating func run() async throws {
        let name = try ObjectName(path: object)
        let position = try at.map { try Position(option: "--at", value: $0) }
        let (token, blamed) = try LocalStore.with(path) { store in
            let token = try position?.token(in: store) ?? store.head()
            let blamed = try store.blame(name, asOf: token)
            if let note = try position?.note(in: store) {
                try Terminal.error.line("\(path): \(note)")
            }
            return (token, blamed)
        }
        guard blamed.object.isPresent else {
            throw SyncError.absent(name, at: token)
        }
        let names = (try? Store.replicaNames(StorePath.absolute(path))) ?? KnownNames()
        let text = BlameText(blamed, of: name, names: names, times: time.style)
        if output.isJSON {
            for line in text.json { try Terminal.output.json(line) }
            return
        }
        try pager.start(asJSON: false)
        for line in text.lines { try Terminal.output.line(line) }
    }
}
