import ArgumentParser

/// The arguments of `push`, `pull` and `sync`.
struct ExchangeArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Argument(help: "The remote's name (default: all remotes).")
    var remote: String?

    @OptionGroup var output: OutputOptions
}
