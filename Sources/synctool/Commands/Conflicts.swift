import ArgumentParser
import SyncReplica
import Varlink

/// `synctool conflicts DB`
struct Conflicts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List and resolve merge conflicts.",
        discussion: """
            A conflict is a value that was written concurrently with the one that the tables \
            show, and that no later edit has replaced. All replicas have the same conflicts.

            synctool conflicts DB lists the open ones. --all includes resolved ones. --settle \
            keeps the current values and resolves all of them.
            """,
        subcommands: [List.self, Show.self, Resolve.self],
        defaultSubcommand: List.self)
}

extension Conflicts {
    /// `synctool conflicts DB`
    struct List: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the open conflicts, or settle all of them.",
            discussion: FileCommandHelp.note)

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Flag(help: "Include resolved conflicts.") var all = false
        @Flag(help: "Keep all current values: resolves all conflicts, in one transaction.")
        var settle = false
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            if settle {
                let count = try replica.conflicts().count
                try replica.closeConflicts(author: Revert.author)
                if output.isJSON {
                    return try Terminal.output.json(["settled": .integer(Int64(count))])
                }
                return try Terminal.output.line(
                    "\(path): \(Plural.text(count, of: "conflict")) settled. "
                        + "Send it to the remotes: synctool push \(Shell.quoted(path))")
            }
            let conflicts = try replica.conflicts(open: all ? nil : true)
            if output.isJSON {
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
    struct Show: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show both sides of a conflict.", discussion: FileCommandHelp.note)

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The conflict's number, from the list.") var id: Int64
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            guard let found = try replica.conflicts(open: nil).first(where: { $0.id == id }) else {
                throw SyncError(
                    .unknownObject, "there is no conflict \(id)", path: path,
                    hint: "List the conflicts: synctool conflicts DB --all")
            }
            if output.isJSON { return try Terminal.output.json(ConflictText.json(found)) }
            for line in ConflictText.details(found) { try Terminal.output.line(line) }
        }
    }

    /// `synctool conflicts resolve DB ID…`
    struct Resolve: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resolve conflicts, each in its own transaction.",
            discussion: """
                --keep losing (the default) restores the overridden value; --keep shown confirms \
                the current one. Either resolves the conflict in all replicas.

                \(FileCommandHelp.note)
                """)

        /// The side to keep.
        enum Side: String, ExpressibleByArgument, CaseIterable {
            case losing, shown
        }

        @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
        @Argument(help: "The conflicts' numbers, from the list.") var ids: [Int64]
        @Option(help: "The side to keep.") var keep = Side.losing
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            for id in ids {
                try replica.resolve(
                    id, keeping: keep == .losing ? .losing : .shown, author: Revert.author)
                if output.isJSON {
                    try Terminal.output.json([
                        "resolved": .integer(id), "keep": .string(keep.rawValue),
                    ])
                } else {
                    try Terminal.output.line(
                        "\(path): conflict \(id) resolved; "
                            + (keep == .losing
                                ? "the overridden value was restored" : "the current value stays"))
                }
            }
        }
    }
}
