import ArgumentParser

/// Tests of merging: simulations, and a process that may be killed while it merges.
@main
struct Syncsim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncsim", abstract: "Prove that merging keeps its promises.",
        subcommands: [Simulate.self, Apply.self], defaultSubcommand: Simulate.self)
}
