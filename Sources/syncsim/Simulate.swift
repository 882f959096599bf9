import ArgumentParser
import Foundation
import SyncReplica
import SyncTesting

/// Runs merge simulations and prints the seeds that break a promise.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run random schedules of replicas that write, exchange and merge.",
        discussion: """
            A failure prints its seed; the same kind, seed and steps replay it. Replicas are values
            in memory (the rules alone, fast), files (the product, as it is), or files on a disk
            that fails.
            """)

    /// What the replicas are.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case values, files, disks
    }

    @Option(help: "What the replicas are: values, files, or files on disks that fail.")
    var kind = Kind.values

    @Option(
        help: """
            Of files: ordinary; plain, as most stores are; crowded: plain, with more conflicts; \
            simple: as most programs are, with large commits; migrating: schemas change at once; \
            loose: writers refer to rows that are not there; orphaned: some replicas do not \
            synchronise a table yet that others refer to; \
            tied: constraints over two columns come and go.
            """)
    var schedules = StoreSimulation.Schedules.ordinary

    @Flag(help: "Of files: check at each merge which objects the fast lane may take.")
    var lane = false

    @Flag(
        help: """
            Of files: merge each batch, and state what was written, by both ways, and compare all \
            tables.
            """)
    var both = false

    @Flag(
        help: """
            Of files: kill replicas at some statements of what they merge, record and collect; the \
            next process has to come to the same tables.
            """)
    var kills = false

    @Flag(help: "Of disks: the power fails, and nothing else does.")
    var power = false

    @Option(help: "The first seed.")
    var seed: UInt64 = 0

    @Option(help: "How many seeds.")
    var count: UInt64 = 1

    @Option(help: "Steps of each schedule before the full exchange; drawn when not given.")
    var steps: Int?

    @Option(help: "The number of failures to stop after.")
    var failures = 20

    @Option(help: "Of files: where they are made; a file system in memory is quick.")
    var folder = "/dev/shm"

    @Flag(help: "Of files: keep those of failed schedules.")
    var keep = false

    func validate() throws {
        guard kind == .files || !lane && !both && !kills && schedules == .ordinary else {
            throw ValidationError("--lane, --both, --kills and --schedules need --kind files")
        }
        guard kind != .disks || !keep else {
            throw ValidationError("--keep keeps no disks: replay the seed")
        }
        guard kind == .disks || !power else {
            throw ValidationError("--power needs --kind disks")
        }
        guard [lane, both, kills].filter({ $0 }).count <= 1 else {
            throw ValidationError("--lane, --both and --kills exclude each other")
        }
    }

    func run() async throws {
        if kind == .disks { return try await runDisks() }
        // The whole state is compared without --lane and --both: it takes most of the time.
        try StoreSimulation.$isVerifying.withValue(!lane && !both) {
            try StoreSimulation.$isCheckingLane.withValue(lane) {
                try StoreSimulation.$comparesLanes.withValue(both) {
                    try StoreSimulation.$killsReplicas.withValue(kills) { try runSchedules() }
                }
            }
        }
    }

    private func runSchedules() throws {
        var total = MergeSimulation.Tally()
        var failed = 0
        var done: UInt64 = 0
        let start = ContinuousClock.now
        let folder = folder + "/syncsim-\(ProcessInfo.processInfo.processIdentifier)"
        defer { if !keep { try? FileManager.default.removeItem(atPath: folder) } }
        for seed in seed..<seed + count {
            do {
                let tally =
                    kind == .values
                    ? try MergeSimulation.run(seed: seed, steps: steps)
                    : try StoreSimulation.run(
                        seed: seed, steps: steps, schedules: schedules, in: folder)
                total.add(tally)
            } catch {
                failed += 1
                print("seed \(seed): \(error)")
                // A run that is cut has told what it found.
                fflush(nil)
                if !keep { try? FileManager.default.removeItem(atPath: folder + "/seed-\(seed)") }
                if failed >= failures { break }
            }
            done += 1
        }
        print(
            """
            \(kind.rawValue): \(done) schedules, \(failed) failures, \(ContinuousClock.now - start)
            commits \(total.commits), merges \(total.merges), refusals \(total.refusals), \
            comparisons \(total.comparisons), adoptions \(total.adoptions), \
            closes \(total.closes), collected \(total.collected), \
            doubtful \(total.doubtful), at several replicas \(total.doubtfulAtSeveral), \
            lies \(total.lies)
            at the end: conflicts \(total.conflicts), revived \(total.revived), \
            unified rows \(total.unified), renumbered \(total.renumbered)
            """)
        if lane { printLane(total.lane) }
        if both { printLanes(total.lane) }
        if kills { print("processes killed: \(total.kills)") }
        if failed > 0 { throw ExitCode(1) }
    }

    private func runDisks() async throws {
        var faults: [String: Int] = [:]
        var failed = 0
        let start = ContinuousClock.now
        for seed in seed..<seed + count {
            do {
                let simulation = try await DiskSimulation(
                    seed: seed, mode: seed % 2 == 0 ? .wal : .delete,
                    faults: power ? [.power] : DiskSimulation.Fault.allCases,
                    isSigning: seed % 4 < 2)
                defer { faults.merge(simulation.happened) { $0 + $1 } }
                try await simulation.run(steps: steps ?? 20)
            } catch {
                failed += 1
                print("seed \(seed): \(error)")
                fflush(nil)
                if failed >= failures { break }
            }
        }
        print("disks: \(failed) failures, \(ContinuousClock.now - start)")
        printCounts(faults, title: "faults that calls met")
        if failed > 0 { throw ExitCode(1) }
    }

    private func printLanes(_ lane: LaneTally) {
        print("by both lanes: \(lane.eligible) objects", terminator: " ")
        let all = lane.eligible + lane.refusals.values.reduce(0, +)
        let percent = all == 0 ? 0 : 100 * lane.eligible / all
        print("of \(all) objects (\(percent) %)")
        printCounts(lane.refusals, title: "by the general lane alone")
        print("stated by both ways: \(lane.stated) objects of \(lane.recordings) recordings")
        printCounts(lane.statementRefusals, title: "recordings by the general way alone")
    }

    private func printCounts(_ counts: [String: Int], title: String) {
        let counts = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        print(title + ": " + counts.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }

    private func printLane(_ lane: LaneTally) {
        let percent = lane.objects == 0 ? 0 : 100 * lane.eligible / lane.objects
        print(
            """
            lane: \(lane.slices) slices, \(lane.wholeSlices) of them wholly eligible; \
            \(lane.objects) objects, \(lane.eligible) eligible (\(percent) %)
            """)
        printCounts(lane.refusals, title: "refused")
    }
}

extension StoreSimulation.Schedules: ExpressibleByArgument {}
