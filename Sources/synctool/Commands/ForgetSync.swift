import ArgumentParser
import SyncReplica
import Varlink

/// `synctool forget-sync DB`
struct ForgetSync: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget-sync",
        abstract: "Make a replica a store of its own: remove merging, keep rows and history.",
        discussion: """
            Drops what merging knows about each row, most of what syncd adds to a database, and \
            the list of remotes. The tables, the history, consumers, policies and keys stay. \
            Remotes and other replicas are not changed; they refuse this file from then on, and it \
            can join them again with remote add --join. Tokens from before are not valid any more.

            Refused while something would be lost: changes that no remote has, rows that a \
            constraint keeps out of their table, overruled values of open conflicts, changes that \
            wait for a table; and while the last exchange with a remote failed, or it lacked what \
            it had.

            Example: synctool forget-sync music.db --vacuum
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String
    @Flag(
        name: .customLong("discard"),
        help: "Also where something is lost, or the store cannot record what was written.")
    var isDiscarding = false
    @OptionGroup var space: FreeSpace
    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    mutating func run() async throws {
        let absolute = StorePath.absolute(path)
        let isDiscarding = isDiscarding
        // A daemon that has to be there, and is not, is told before anything is changed.
        _ = try await Access.open(path, using: access)
        let report = try await ProgressLine.during("forget-sync") {
            try Store.forgetSync(absolute, discarding: isDiscarding)
        }
        let keys = try keyCount()
        if !output.isJSON {
            for line in lines(report, keys: keys) { try Terminal.output.line(line) }
        }
        if !access.isDirect {
            try await StoreReopening(options: access).run(
                absolute, after: "The store is a store of its own")
        }
        let (lines, space) = try await space.settle(path)
        if output.isJSON {
            var members = members(report)
            members["bytes"] = space.map { .integer($0.bytes) } ?? .null
            members["free"] = space.map { .integer($0.freeBytes) } ?? .null
            return try Terminal.output.json(members)
        }
        for line in lines { try Terminal.output.line(line) }
    }

    private func keyCount() throws -> Int {
        let store = try Store.open(StorePath.absolute(path))
        defer { try? store.close() }
        return try store.keyRing().keys.count
    }

    private func lines(_ report: ForgottenSync, keys: Int) -> [String] {
        var lines = ["\(path): not synchronised any more; rows and history are as they were"]
        if !report.remotes.isEmpty {
            let names = report.remotes.map(Printable.text).joined(separator: ", ")
            lines.append("  removed from the list, not changed: \(names)")
        }
        if !report.losses.isEmpty { lines.append("  lost, as asked: \(report.losses.text)") }
        if let error = report.unrecorded {
            lines.append(
                "  changes that were written without triggers may be missing in the history: "
                    + Printable.text(error.reason))
        }
        if !report.uncompared.isEmpty {
            let names = report.uncompared.map(Printable.text).joined(separator: ", ")
            lines.append(
                "  not compared with the history yet, so that changes without triggers are not "
                    + "found: \(names). Run: synctool doctor \(Shell.quoted(path)) --mend")
        }
        if keys > 0 {
            lines.append(
                "  \(Plural.text(keys, of: "key")) for encrypted remotes "
                    + (keys == 1 ? "stays" : "stay")
                    + " in the file: synctool key show \(Shell.quoted(path))")
        }
        lines.append(
            "  it was replica \(report.replica): those that know it wait for it until its lease "
                + "ends. To end that, on one of them: synctool remote members DB --remove "
                + "\(report.replica)")
        return lines
    }

    private func members(_ report: ForgottenSync) -> JSONObject {
        [
            "store": .string("\(report.store)"), "replica": .string("\(report.replica)"),
            "remotes": .array(report.remotes.map { .string($0) }),
            "lost": .object([
                "transactions": .integer(Int64(report.losses.unsent)),
                "hiddenRows": .integer(Int64(report.losses.hiddenRows)),
                "conflicts": .integer(Int64(report.losses.openConflicts)),
                "waiting": .integer(Int64(report.losses.waiting)),
                "uncertainRemotes": .array(report.losses.uncertain.map { .string($0) }),
            ]),
            "unrecorded": .text(report.unrecorded?.reason),
            "uncompared": .array(report.uncompared.map { .string($0) }),
        ]
    }
}
