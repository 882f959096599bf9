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

            synctool conflicts DB lists the open ones. --all includes resolved ones, --closed \
            lists these alone. --settle keeps the current values and resolves all of them; with \
            --delete-hidden also where that deletes rows that are not shown.
            """,
        subcommands: [List.self, Show.self, Resolve.self],
        defaultSubcommand: List.self)
}

extension Conflicts {
    /// `synctool conflicts DB`
    struct List: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the open conflicts, or settle all of them.",
            discussion: """
                --settle is refused while rows are not shown, because it would delete them on all \
                replicas. With --delete-hidden it does.

                \(FileCommandHelp.note)
                """)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Flag(help: "Include resolved conflicts.") var all = false
        @Flag(help: "List the resolved conflicts alone.") var closed = false
        @Flag(help: "Keep all current values: resolves all conflicts, in one transaction.")
        var settle = false
        @Flag(help: "With --settle: delete the rows that are not shown, on all replicas.")
        var deleteHidden = false
        @OptionGroup var output: OutputOptions
        @OptionGroup var time: TimeOptions
        @OptionGroup var pager: PagerOptions
        var database: String? { path }

        func validate() throws {
            if deleteHidden && !settle {
                throw ValidationError("--delete-hidden goes with --settle.")
            }
            if settle && (all || closed) || all && closed {
                throw ValidationError("--all, --closed and --settle exclude each other.")
            }
        }

        /// - Throws: the exit status 1 where some stay open.
        private func printSettled(_ open: Int, left: [ConflictRecord]) throws {
            let tables = Set(left.filter { $0.presence == .noTable }.map(\.entity)).sorted()
            let left = left.count
            if output.isJSON {
                try Terminal.output.json(["settled": .integer(Int64(open - left))])
            } else if open == 0 {
                try Terminal.output.line("\(path): no conflicts were open")
            } else {
                try Terminal.output.line(
                    "\(path): \(Plural.text(open - left, of: "conflict")) settled. "
                        + "Send it to the remotes: synctool push \(Shell.quoted(path))")
            }
            guard left > 0 else { return }
            let next =
                tables.isEmpty
                ? "Run synctool sync \(Shell.quoted(path)), then settle again"
                : "Settle on a replica that has "
                    + tables.map { Printable.text($0) }.joined(separator: ", ")
                    + ", or create that here again"
            try Terminal.error.line(
                "  still open: \(Plural.text(left, of: "conflict")). \(next)")
            throw ExitCode.failure
        }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            if settle {
                let open = try replica.conflicts().count
                try await ProgressLine.during("settling") {
                    try replica.closeConflicts(
                        author: Revert.author, isDeletingHidden: deleteHidden)
                }
                return try printSettled(open, left: try replica.conflicts())
            }
            let conflicts = try replica.conflicts(open: all ? nil : !closed)
            let text = ConflictText(names: try replica.replicaNames(), times: time.style)
            if output.isJSON {
                for conflict in conflicts { try Terminal.output.json(text.json(conflict)) }
                return
            }
            try pager.start(asJSON: false)
            if conflicts.isEmpty { try Terminal.output.line("no conflicts") }
            for conflict in conflicts { try Terminal.output.line(text.line(conflict)) }
        }
    }

    /// `synctool conflicts show DB ID`
    struct Show: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show both sides of a conflict, and what each choice does to which rows.",
            discussion: FileCommandHelp.note)

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: "The conflict's number, from the list.") var id: Int64
        @OptionGroup var output: OutputOptions
        @OptionGroup var time: TimeOptions
        @OptionGroup var pager: PagerOptions
        var database: String? { path }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            guard let found = try replica.conflicts(open: nil).first(where: { $0.id == id }) else {
                throw SyncError(
                    .unknownObject, "there is no conflict \(id)", path: path,
                    hint: "List the conflicts: synctool conflicts DB --all")
            }
            let text = ConflictText(names: try replica.replicaNames(), times: time.style)
            let choices: [(String, ConflictRecord.Choice)] =
                found.isOpen ? [("shown", .shown), ("losing", .losing)] : []
            let previews = try choices.map { ($0.0, try replica.preview(id, keeping: $0.1)) }
            if output.isJSON {
                var object = text.json(found)
                var described = JSONObject()
                for (name, preview) in previews {
                    described[name] = .object(OutcomeText.json(preview))
                }
                object["choices"] = found.isOpen ? .object(described) : .null
                return try Terminal.output.json(object)
            }
            try pager.start(asJSON: false)
            for line in text.details(found) { try Terminal.output.line(line) }
            for (name, preview) in previews {
                let lines = OutcomeText.lines(of: preview, choice: name, path: TypedPath(path))
                for line in lines { try Terminal.output.line(line) }
            }
        }
    }

    /// `synctool conflicts resolve DB ID…`
    struct Resolve: FileCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resolve conflicts, each in its own transaction.",
            discussion: """
                --keep losing (the default) restores the overridden value; --keep shown confirms \
                the current one; --set COLUMN=VALUE writes another one. Each resolves the conflict \
                in all replicas. Where the tables cannot show the value, nothing is changed, and \
                the message says why and what to do.

                --all, with --entity TABLE or without, resolves all open conflicts; --expect N \
                refuses unless there are exactly N.

                \(FileCommandHelp.note)
                """)

        /// The side to keep.
        enum Side: String, ExpressibleByArgument, CaseIterable {
            case losing, shown
        }

        @Argument(
            help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
        var path: String
        @Argument(help: ArgumentHelp("The conflicts' numbers, from the list.", valueName: "id"))
        var ids: [Int64] = []
        @Option(help: ArgumentHelp("The side to keep.", valueName: "side")) var keep: Side?
        @Option(
            name: .customLong("set"),
            help: ArgumentHelp(
                "Write another value; may be repeated. COLUMN= is an empty text, COLUMN alone "
                    + "NULL.",
                valueName: "column=value"))
        var values: [String] = []
        @Flag(help: "Resolve all open conflicts.") var all = false
        @Option(help: ArgumentHelp("With --all: of this table.", valueName: "table"))
        var entity: String?
        @Option(
            help: ArgumentHelp("With --all: how many conflicts there must be.", valueName: "n"))
        var expect: Int?
        @OptionGroup var output: OutputOptions
        var database: String? { path }

        func validate() throws {
            guard all == ids.isEmpty else {
                throw ValidationError("Name conflicts by their numbers, or use --all.")
            }
            if !all && (entity != nil || expect != nil) {
                throw ValidationError("--entity and --expect go with --all.")
            }
            if !values.isEmpty && (keep != nil || ids.count != 1) {
                throw ValidationError("--set resolves one conflict, and excludes --keep.")
            }
        }

        private var choice: ConflictRecord.Choice {
            guard values.isEmpty else {
                let pairs = values.map { text in
                    let parts = text.split(
                        separator: "=", maxSplits: 1, omittingEmptySubsequences: false
                    ).map(String.init)
                    return (parts[0], parts.count > 1 ? parts[1] : nil)
                }
                return .values(Dictionary(pairs) { $1 })
            }
            return keep == .shown ? .shown : .losing
        }

        mutating func run() async throws {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            for id in try chosen(of: replica) {
                // Resolving one may have resolved another one of the same row.
                if all, try !replica.conflicts().contains(where: { $0.id == id }) { continue }
                let outcome = try replica.resolve(id, keeping: choice, author: Revert.author)
                try print(outcome, of: id)
            }
        }

        private func chosen(of replica: StoreReplica) throws -> [Int64] {
            guard all else { return ids }
            if let entity { try LocalStore.require(entity: entity, in: path) }
            let open = try replica.conflicts().filter { conflict in
                entity.map { $0.lowercased() == conflict.entity.lowercased() } ?? true
            }
            guard open.count == expect else {
                let named = entity.map { " of \($0)" } ?? ""
                let option = entity.map { " --entity \(Shell.quoted($0))" } ?? ""
                let side = (keep ?? .losing).rawValue
                guard !open.isEmpty else {
                    throw SyncError(
                        .refused,
                        "no conflict\(named) is open" + (expect.map { ", not \($0)" } ?? ""),
                        path: path, hint: "There is nothing to resolve: synctool conflicts DB")
                }
                throw SyncError(
                    .refused,
                    "\(Plural.text(open.count, of: "conflict"))\(named) "
                        + "\(open.count == 1 ? "is" : "are") open"
                        + (expect.map { ", not \($0)" } ?? ""),
                    path: path,
                    hint: "To resolve them: synctool conflicts resolve DB --all\(option) "
                        + "--keep \(side) --expect \(open.count)")
            }
            return open.map(\.id)
        }

        private func print(_ outcome: ConflictOutcome, of id: Int64) throws {
            if output.isJSON {
                var object = OutcomeText.json(outcome)
                object["resolved"] = .integer(id)
                object["keep"] = values.isEmpty ? .string((keep ?? .losing).rawValue) : .null
                return try Terminal.output.json(object)
            }
            let what =
                values.isEmpty
                ? keep == .shown ? "the current value stays" : "the overridden value was restored"
                : "the row has the chosen value"
            try Terminal.output.line("\(path): conflict \(id) resolved; \(what)")
            for line in OutcomeText.lines(outcome) { try Terminal.output.line("  " + line) }
        }
    }
}
