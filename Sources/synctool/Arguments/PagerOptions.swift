import ArgumentParser

/// Whether long output is shown page by page.
struct PagerOptions: ParsableArguments {
    @Flag(
        name: .customLong("no-pager"),
        help: "Do not show the output with a pager ($SYNCTOOL_PAGER, $PAGER or less).")
    var isOff = false

    /// - Throws: as ``Pager/start()``.
    func start(asJSON isJSON: Bool) throws {
        if !isOff, !isJSON { try Pager.start() }
    }
}
