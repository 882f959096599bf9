import ArgumentParser
import SyncReplica
import Varlink

/// `synctool conflicts DB`
struct Conflicts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what merging could not show, and decide otherwise.",
        discussion: """
            A conflict is a value that somebody wrote, that nobody has overwritten having seen it, \
            and that the tables do not show. All replicas have the same ones. `synctool conflicts \
            DB` lists them.
            """,
        subcommands: [List.self, Show.self, Resolve.self],
        defaultSubcommand: List.self)
}

extension Conflicts {
    /// `synctool conflicts DB`
    struct List: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the open conflicts, or settle all of them.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Flag(help: "Closed ones, too.") var all = false
        @Flag(help: "Keep what is shown now: closes all of them, as one transaction.")
        var settle = false
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            if settle {
                let count = try replica.conflicts().count
                try replica.settle(author: Revert.author)
                if common.json {
                    return try Terminal.output.json(["settled": .integer(Int64(count))])
                }
                return try Terminal.output.line(
                    "\(path): \(Plural.text(count, "conflict")) settled. Tell the others: "
                        + "synctool push \(Shell.quoted(path))")
            }
            let conflicts = try replica.conflicts(open: all ? nil : true)
            if common.json {
                for conflict in conflicts {
                    try Terminal.output.json(ConflictText.json(conflict))
                }
                return
            }
            if conflicts.isEmpty { try Terminal.output.line("no conflicts") }
            for conflict in conflicts { try Terminal.output.line(ConflictText.line(conflict)) }
        }
    }

    /// `synctool conflicts show DB ID`
    struct Show: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show both sides of a conflict.")

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The conflict's number, as the list has it.") var id: Int64
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            guard let found = try replica.conflicts(open: nil).first(where: { $0.id == id }) else {
                throw SyncError(
                    .refused, "there is no conflict \(id)", path: path,
                    hint: "List them with: synctool conflicts DB --all")
            }
            if common.json { return try Terminal.output.json(ConflictText.json(found)) }
            for line in ConflictText.details(found) { try Terminal.output.line(line) }
        }
    }

    /// `synctool conflicts resolve DB ID…`
    struct Resolve: StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Turn conflicts round, each as a transaction of its own.",
            discussion: """
                What is not shown becomes what is shown (--keep losing, the default), or what is \
                shown is confirmed (--keep shown). Either way the conflict is closed, everywhere.
                """)

        /// Which side stays.
        enum Side: String, ExpressibleByArgument, CaseIterable {
            case losing, shown
        }

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The conflicts' numbers, as the list has them.") var ids: [Int64]
        @Option(help: "losing or shown.") var keep = Side.losing
        @OptionGroup var common: CommonOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            for id in ids {
                try replica.resolve(
                    id, keeping: keep == .losing ? .losing : .shown, author: Revert.author)
                if common.json {
                    try Terminal.output.json([
                        "resolved": .integer(id), "keep": .string(keep.rawValue),
                    ])
                } else {
                    try Terminal.output.line(
                        "\(path): conflict \(id) is closed; "
                            + (keep == .losing
                                ? "what was not shown is shown" : "what is shown stays"))
                }
            }
        }
    }
}
