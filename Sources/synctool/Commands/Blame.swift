import ArgumentParser
import SyncCore
import SyncReplica

/// `synctool blame DB OBJECT`
struct Blame: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show which transaction and author wrote each value of an object.",
        discussion: """
            One line for each property: its value, and the number, time and author of the \
            transaction that wrote it. A value from before the history, or whose transaction was \
            purged, has none. --at shows the values of an earlier position. The exit status is 1 \
            if the object did not exist.

            Example: synctool blame music.db Album/348

            \(FileCommandHelp.note)
            """)

    @OptionGroup var arguments: ObjectArguments
    @OptionGroup var output: OutputOptions
    @OptionGroup var time: TimeOptions
    @OptionGroup var pager: PagerOptions
    var database: String? { arguments.path }

    mutating func run() async throws {
        let found = try arguments.read { try $0.blame($1, asOf: $2) }
        let (name, blamed) = (found.name, found.content)
        guard blamed.object.isPresent else {
            throw SyncError.absent(name, at: found.token)
        }
        let names = (try? Store.replicaNames(StorePath.absolute(arguments.path))) ?? KnownNames()
        let text = BlameText(blamed, of: name, names: names, times: time.style)
        if output.isJSON {
            for line in text.json { try Terminal.output.json(line) }
            return
        }
        try pager.start(asJSON: false)
        for line in text.lines { try Terminal.output.line(line) }
    }
}
