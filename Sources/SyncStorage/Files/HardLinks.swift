import Glibc
import SyncValues

/// Database files with several names.
///
/// SQLite keeps what is not in the database yet in a file beside the name by which it was opened: a
/// program that opens another name does not see it, and writes over it
/// (sqlite.org/howtocorrupt.html, "Multiple links to the same file"). Symbolic links are followed,
/// and do no harm.
package enum HardLinks {
    /// What is wrong with a file that has several names, and what to do; nil where it has one.
    /// - Complexity: one call of the system
    package static func problem(with path: String) -> SyncError? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1
        else { return nil }
        return SyncError(
            .refused,
            "the database file has \(status.st_nlink) names (hard links): a program that opens "
                + "another one may damage it, and writes are lost",
            path: path,
            hint: "Find the names, and remove all but one while no program uses the file: "
                + "find / -xdev -samefile \(Shell.quoted(path))")
    }
}
