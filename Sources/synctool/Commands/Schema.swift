import ArgumentParser
import SyncRemotes
import SyncReplica

/// `synctool schema DB`
struct Schema: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Compare a database with the schema of its store, and apply what is safe.",
        discussion: """
            Replicas tell each other their schemas. The command lists what the newest one has that \
            this database lacks, and what is waiting for it. With --from it pulls from a remote \
            first. With --apply it creates new tables, columns, indexes, full-text and R-Tree \
            indexes, views and triggers in one transaction, and applies the changes that were \
            waiting. It never drops or rebuilds anything: what needs that is listed with the \
            reason, and the exit status is 1.

            The statements come from another replica. They are checked before they are shown: \
            each makes one object of the store, and reaches nothing else. Triggers that write \
            tracked tables, and recursive views, are made only with --allow-schema, which shows \
            their texts.

            Example: synctool schema music.db --from origin --apply

            \(FileCommandHelp.note)
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file()) var path:
        String
    @Option(help: ArgumentHelp("Pull from this remote first.", valueName: "remote")) var from:
        String?
    @Flag(help: "Apply what is safe.") var apply = false
    @Flag(help: "Also make triggers that write tracked tables, and recursive views.")
    var allowSchema = false
    @OptionGroup var output: OutputOptions
    var database: String? { path }

    mutating func run() async throws {
        let absolute = StorePath.absolute(path)
        let lack = if let from { try await pull(absolute, from: from) } else { nil as SyncError? }
        guard let comparison = try compare(absolute) else { throw try unknown(absolute) }
        let hasMore = !comparison.changes.isEmpty || comparison.userVersion != nil
        let (changes, failed, rest) =
            apply && hasMore
            ? try await applyAll(of: comparison, at: absolute)
            : (comparison.changes, [], comparison)
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        let text = SchemaText(
            comparison: rest, changes: changes, failed: failed,
            isApplied: apply, waiting: try replica.waiting, remote: from, path: path,
            isHeardWhole: lack == nil)
        if output.isJSON {
            try Terminal.output.json(text.json)
        } else {
            try text.print()
        }
        if let lack { throw lack }
        if apply, !text.isComplete { throw ExitCode.failure }
    }

    /// Rounds of ``applyAll(of:at:)``: each makes possible what depends on the one before, as a
    /// generated column does.
    private static let roundsMax = 10

    /// - Returns: what was to be made, what of it was refused, and what is missing after it.
    private func applyAll(
        of comparison: SchemaComparison, at absolute: String
    ) async throws -> ([SchemaComparison.Change], [RefusedObject], rest: SchemaComparison) {
        var (changes, rest) = (comparison.changes, comparison)
        for _ in 0..<Self.roundsMax {
            if allowSchema { try showTexts(absolute) }
            let wanted = rest
            let failed = try await ProgressLine.during("schema --apply") {
                try StoreReplica.applySchema(wanted, at: absolute)
            }
            guard let next = try compare(absolute) else { throw try unknown(absolute) }
            rest = next
            let new = rest.changes.filter { !changes.contains($0) }
            guard failed.isEmpty, !new.isEmpty else { return (changes, failed, rest) }
            changes += new
        }
        return (changes, [], rest)
    }

    private func unknown(_ absolute: String) throws -> SyncError {
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        guard try replica.isMerging else {
            return SyncError(
                .refused, "no other replica has told its schema: the store has no remote yet",
                path: path, hint: "Add one: synctool remote add DB origin dir:/path/of/a/folder")
        }
        return SyncError(
            .refused, "the schema of the store is not known here", path: path,
            hint: "It comes with signed batches. On each replica run: synctool upgrade DB, then "
                + "synctool sync DB")
    }

    private func compare(_ absolute: String) throws -> SchemaComparison? {
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        return try replica.compareSchema(consenting: allowSchema)
    }

    private func showTexts(_ absolute: String) throws {
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        let refused = try replica.compareSchema()?.refused ?? []
        try RefusedText(refused: refused, path: path).printTexts()
    }

    /// - Returns: why not all was merged that the remote has.
    private func pull(_ absolute: String, from name: String) async throws -> SyncError? {
        let store = try Store.open(absolute)
        let (entry, ring) = (try store.remote(name), try store.keyRing())
        try store.close()
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        let progress = ProgressLine(name)
        defer { progress.end() }
        let report = try await replica.exchange(
            .pull, with: entry, ring: ring, progress: { progress.show($0) },
            completed: { report in
                progress.end()
                try SkippedText(problems: report.problems).print()
            })
        return report.lack
    }
}
