import CSQLite
import Glibc
import SyncValues

/// Switches off the locks that one connection takes on its database file.
///
/// With its locks off the connection reads a database in a rollback journal mode without holding
/// up any writer, and without being held up: SQLite takes a lock that is not there. What it reads
/// may then be a mixture of two states; ``UnlockedReading`` finds that out. A journal is never
/// taken for that of a writer that died, so that nothing is rolled back.
///
/// The file object of the connection gets another table of methods, of which all but three are
/// those of SQLite. No descriptor is opened: closing one would drop the locks of the process
/// (https://www.sqlite.org/howtocorrupt.html §2.2).
///
/// Invariants:
/// - Off, the connection cannot write: every lock beyond SHARED is refused (`SQLITE_BUSY`).
/// - Off, the connection opens no WAL: reading fails (`SQLITE_CANTOPEN`) where another process has
///   switched to WAL mode meanwhile.
/// - Locks are switched while the connection has none. Where it kept one, it gets that lock when
///   they are switched on.
///
/// Confined to the connection's queue; not to be used after the connection is closed, which frees
/// the table.
package final class LockSwitch {
    private struct Table {
        /// First: the file object points to it, and the methods find the rest behind it.
        var methods: sqlite3_io_methods
        let real: UnsafePointer<sqlite3_io_methods>
        var isOff = false
        /// The lock that SQLite believes to have while they are off.
        var level: Int32 = SQLITE_LOCK_NONE
    }

    private let file: UnsafeMutablePointer<sqlite3_file>
    private let table: UnsafeMutablePointer<Table>

    /// - Returns: nil where the connection has no file.
    package init?(_ connection: OpaquePointer) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard
            sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
                == SQLITE_OK,
            let file, let real = file.pointee.pMethods
        else { return nil }
        self.file = file
        if Self.isOwn(real) {
            table = UnsafeMutableRawPointer(mutating: real).assumingMemoryBound(to: Table.self)
            return
        }
        var methods = real.pointee
        methods.xClose = Self.closeMethod
        methods.xLock = { LockSwitch.lock($0, $1) }
        methods.xUnlock = { LockSwitch.unlock($0, $1) }
        methods.xCheckReservedLock = { LockSwitch.checkReserved($0, $1) }
        table = .allocate(capacity: 1)
        table.initialize(to: Table(methods: methods, real: real))
        file.pointee.pMethods = UnsafeRawPointer(table).assumingMemoryBound(
            to: sqlite3_io_methods.self)
    }

    /// Whether another connection, of this process or another, is about to write or writes: it has
    /// the RESERVED lock. Takes no lock.
    package var isReserved: Bool {
        var answer: Int32 = 0
        let status = table.pointee.real.pointee.xCheckReservedLock(file, &answer)
        return status != SQLITE_OK || answer != 0
    }

    /// No lock is taken from now on, and a WAL is not opened: a connection keeps its lock while it
    /// has one open, and would have none to keep another process from deleting it.
    package func turnOff() {
        table.pointee.isOff = true
        table.pointee.methods.xShmMap = nil
    }

    /// Locks are taken again.
    ///
    /// - Throws: `busy` when the connection has to have a lock that it cannot get: they stay off.
    package func turnOn() throws {
        if table.pointee.level != SQLITE_LOCK_NONE {
            guard table.pointee.real.pointee.xLock(file, SQLITE_LOCK_SHARED) == SQLITE_OK else {
                throw SyncError(.busy, "another process is changing the journal mode")
            }
            table.pointee.level = SQLITE_LOCK_NONE
        }
        table.pointee.methods.xShmMap = table.pointee.real.pointee.xShmMap
        table.pointee.isOff = false
    }

    // MARK: Methods

    private static let closeMethod: @convention(c) (UnsafeMutablePointer<sqlite3_file>?) -> Int32 =
        { LockSwitch.close($0) }

    /// Whether these are the methods of a switch that was made for the connection before.
    private static func isOwn(_ methods: UnsafePointer<sqlite3_io_methods>) -> Bool {
        guard let close = methods.pointee.xClose else { return false }
        return unsafeBitCast(close, to: Int.self) == unsafeBitCast(closeMethod, to: Int.self)
    }

    private static func table(
        of file: UnsafeMutablePointer<sqlite3_file>?
    ) -> UnsafeMutablePointer<Table> {
        guard let methods = file?.pointee.pMethods else {
            preconditionFailure("SQLite called a method of a file that is closed")
        }
        return UnsafeMutableRawPointer(mutating: methods).assumingMemoryBound(to: Table.self)
    }

    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        let table = table(of: file)
        let real = table.pointee.real
        file?.pointee.pMethods = real
        table.deinitialize(count: 1)
        table.deallocate()
        return real.pointee.xClose(file)
    }

    private static func lock(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ level: Int32
    ) -> Int32 {
        let table = table(of: file)
        guard table.pointee.isOff else { return table.pointee.real.pointee.xLock(file, level) }
        guard level <= SQLITE_LOCK_SHARED else { return SQLITE_BUSY }
        table.pointee.level = level
        return SQLITE_OK
    }

    private static func unlock(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ level: Int32
    ) -> Int32 {
        let table = table(of: file)
        guard table.pointee.isOff else { return table.pointee.real.pointee.xUnlock(file, level) }
        table.pointee.level = min(level, table.pointee.level)
        return SQLITE_OK
    }

    private static func checkReserved(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ answer: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let table = table(of: file)
        guard table.pointee.isOff else {
            return table.pointee.real.pointee.xCheckReservedLock(file, answer)
        }
        answer?.pointee = 1
        return SQLITE_OK
    }
}
