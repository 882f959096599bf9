import ArgumentParser
import SyncCore

/// What a command that drops tables of syncd says and does about their pages.
struct FreeSpace: ParsableArguments {
    @Flag(
        name: .customLong("vacuum"),
        help: ArgumentHelp(
            "Return the free pages to the file system: SQLite rewrites it, which needs room for "
                + "a second copy; writers wait meanwhile."))
    var isReturned = false

    /// Below this nobody looks for it.
    private static let bytesMin: Int64 = 100_000

    /// Returns the free pages, or says how.
    /// - Returns: the lines for the user, and what is in use; nil for a file that this user cannot
    ///   read.
    /// - Throws: what `VACUUM` throws; what was done before stands.
    func settle(_ path: String) async throws -> (lines: [String], space: FileSpace?) {
        let absolute = StorePath.absolute(path)
        guard isReturned else { return offer(path) }
        let before = try Store.space(of: absolute)
        let after: FileSpace
        do {
            after = try await ProgressLine.during("vacuum") { try Store.vacuum(absolute) }
        } catch var error as SyncError {
            error.reason = "all else is done, and the free pages stay: " + error.reason
            error.hint =
                (error.hint.map { $0 + "; then run" } ?? "Later run")
                + ": sqlite3 \(Shell.quoted(path)) VACUUM"
            throw error
        }
        if after.isHeld {
            throw SyncError(
                .busy,
                "all else is done. The file was rewritten, and gets shorter when the programs that "
                    + "read it now have finished", path: absolute,
                hint: "Nothing else has to be done: the next checkpoint of any program does it")
        }
        let sizes = [after, before].map { ByteCount.text($0.bytes) }
        return (["  the file has \(sizes[0]) now; before it had \(sizes[1])"], after)
    }

    /// What there is to give back. A file that this user cannot read is left to its owner.
    private func offer(_ path: String) -> (lines: [String], space: FileSpace?) {
        guard let space = try? Store.space(of: StorePath.absolute(path)) else { return ([], nil) }
        var lines: [String] = []
        if space.freeBytes >= Self.bytesMin {
            lines.append(
                "  \(ByteCount.text(space.freeBytes)) of \(ByteCount.text(space.bytes)) are free: "
                    + "SQLite uses them for new rows. To give them back: sqlite3 "
                    + "\(Shell.quoted(path)) VACUUM")
        }
        return (lines, space)
    }
}
