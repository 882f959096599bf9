import ArgumentParser

/// Whether a command uses the daemon or the file itself.
///
/// Only commands that can use either take these options; the others are ``FileCommand``s.
struct AccessOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Use the daemon at this socket; fail if it does not answer.", valueName: "path"),
        completion: .file())
    var socket: String?

    @Flag(name: .customLong("direct"), help: "Read and write the file itself, without the daemon.")
    var isDirect = false

    func validate() throws {
        if isDirect && socket != nil {
            throw ValidationError("--direct and --socket exclude each other.")
        }
    }
}
