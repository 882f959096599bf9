import ArgumentParser

extension TimeStyle: ExpressibleByArgument {}

/// How a command shows times in text: JSON always has them in UTC.
struct TimeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How times are shown: relative (2 hours ago) or absolute, in local time (default: "
                + "relative on a terminal, otherwise absolute).", valueName: "style"))
    var times: TimeStyle?

    var style: TimeStyle { times ?? (Terminal.output.isInteractive ? .relative : .absolute) }
}
