/// What a user may choose for a database file before its first table, the journal mode, and whether
/// an earlier version tracked it: nothing that merging does may depend on it.
struct SimulatedFile {
    /// The journal mode of a replica's file.
    let journalMode: String
    private let pageSize: Int
    private let encoding: String
    private let autoVacuum: String
    /// Whether a version tracked it that gives new objects neighbouring identities.
    private let hasAscendingIdentities: Bool

    /// Draws the file of one replica. Half of them are as SQLite makes them, in WAL mode.
    static func draw(_ random: inout SeededRandom) -> SimulatedFile {
        let isPlain = random.chance(0.5)
        return SimulatedFile(
            journalMode: isPlain ? "WAL" : random.pick(["DELETE", "TRUNCATE", "PERSIST", "WAL"]),
            pageSize: isPlain ? 4096 : random.pick([512, 1024, 8192, 16384, 65536]),
            encoding: isPlain ? "UTF-8" : random.pick(["UTF-8", "UTF-16le", "UTF-16be"]),
            autoVacuum: isPlain ? "NONE" : random.pick(["NONE", "FULL", "INCREMENTAL"]),
            hasAscendingIdentities: random.chance(0.7))
    }

    /// The same with texts in UTF-8.
    var inUTF8: SimulatedFile {
        SimulatedFile(
            journalMode: journalMode, pageSize: pageSize, encoding: "UTF-8",
            autoVacuum: autoVacuum, hasAscendingIdentities: hasAscendingIdentities)
    }

    /// What has to run on the tracked file.
    var storeStatements: [String] {
        if hasAscendingIdentities { return [] }
        return [
            "DELETE FROM syncd_meta WHERE key = 'births'",
            "UPDATE syncd_meta SET value = value & ~64 WHERE key = 'writes'",
        ]
    }

    /// What has to run on the empty file.
    var statements: [String] {
        [
            "PRAGMA page_size = \(pageSize)", "PRAGMA encoding = '\(encoding)'",
            "PRAGMA auto_vacuum = \(autoVacuum)", "PRAGMA journal_mode = \(journalMode)",
        ]
    }
}
