import ArgumentParser

/// The options of `push` and `sync` for waiting until other replicas have merged.
struct WaitArguments: ParsableArguments {
    @Flag(help: "Wait until every other replica that uses the remote has merged the changes.")
    var wait = false

    @Option(help: ArgumentHelp("The maximum wait: 90s, 30m, 12h, 7d.", valueName: "time"))
    var timeout = Lease(duration: .seconds(60))

    /// The maximum wait; nil: do not wait.
    var waitMax: Duration? { wait ? timeout.duration : nil }
}
