import ArgumentParser

/// What a command about one object takes: the object, and the position that it is looked at from.
struct ObjectArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Argument(help: ArgumentHelp("The object, from synctool history.", valueName: "entity/key"))
    var object: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "As it was at this position: a number, a token or a date.", valueName: "position"))
    var at: String?
}
