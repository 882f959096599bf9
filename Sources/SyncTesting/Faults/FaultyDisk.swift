import CFaults

/// The disk below one folder, which fails as a test asks: full, with failing syncs, or by a power
/// failure, at a chosen operation.
///
/// It is below SQLite: each database that this process opens in the folder is on it, no matter
/// which code opens it. Other folders are not affected. Counts are of operations after the call; 0
/// is the next one.
package final class FaultyDisk: Sendable {
    // The C side has a lock of its own.
    private nonisolated(unsafe) let disk: OpaquePointer

    /// - Parameter folder: an absolute path without symbolic links.
    /// - Returns: nil where SQLite has no Unix layer.
    package init?(_ folder: String) {
        guard let disk = syncd_disk_make(folder + "/") else { return nil }
        self.disk = disk
    }

    deinit { syncd_disk_free(disk) }

    /// From some write on there is no space, until ``heal()``.
    package func fill(after count: Int) { syncd_disk_fill(disk, Int64(count)) }

    /// From some sync on they fail, until ``heal()``.
    package func failSyncs(after count: Int) { syncd_disk_fail_syncs(disk, Int64(count)) }

    /// There is space, syncs work, and no power failure is to come.
    package func heal() {
        syncd_disk_fill(disk, -1)
        syncd_disk_fail_syncs(disk, -1)
        syncd_disk_lose_power(disk, -1, 0)
    }

    /// The power fails at some write or sync: nothing can be opened or written from then on.
    /// - Parameter seed: decides what of the writes that were not synced is on the disk.
    package func losePower(after count: Int, seed: UInt64) {
        syncd_disk_lose_power(disk, Int64(count), seed)
    }

    /// Whether the power has failed.
    package var isDead: Bool { syncd_disk_is_dead(disk) != 0 }

    /// After a power failure, when every database is closed: the files are what the disk has, and
    /// it works.
    /// - Returns: false where a file is open or cannot be written.
    package func restart() -> Bool { syncd_disk_restart(disk) == 0 }
}
