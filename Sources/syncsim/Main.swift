import ArgumentParser
import SyncTesting

/// Runs merge simulations and prints the seeds that break a promise.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncsim",
        abstract: "Run random schedules of replicas that write, exchange and merge.",
        discussion: "A failure prints its seed; the same seed and steps replay it.")

    @Option(help: "The first seed.")
    var seed: UInt64 = 0

    @Option(help: "How many seeds.")
    var count: UInt64 = 1

    @Option(help: "Steps of each schedule before the full exchange; drawn when not given.")
    var steps: Int?

    @Option(help: "Stop after so many failures.")
    var failures = 20

    func run() throws {
        var total = MergeSimulation.Tally()
        var failed = 0
        let start = ContinuousClock.now
        for seed in seed..<seed + count {
            do {
                total.add(try MergeSimulation.run(seed: seed, steps: steps))
            } catch {
                failed += 1
                print("seed \(seed): \(error)")
                if failed >= failures { break }
            }
        }
        print(
            """
            \(count) schedules, \(failed) failures, \(ContinuousClock.now - start)
            commits \(total.commits), merges \(total.merges), refusals \(total.refusals), \
            adoptions \(total.adoptions), closes \(total.closes), collected \(total.collected)
            at the end: conflicts \(total.conflicts), revived \(total.revived), \
            unified rows \(total.unified)
            """)
        if failed > 0 { throw ExitCode(1) }
    }
}
