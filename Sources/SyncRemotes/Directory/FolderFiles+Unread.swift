import Foundation
import SyncCore

/// What cannot be read is not taken for something that is not there: it is named, with who can
/// change that.
extension FolderFiles {
    /// Something else than a file has the name of one.
    static let irregular = SyncError(.badData, "not a regular file")

    /// Nil, when `errno` says that there is nothing of the name.
    /// - Throws: as ``look(at:limit:)``.
    func nothing<Found>(at name: String) throws -> Found? {
        switch errno {
        case ENOENT, ESTALE: return nil
        case ELOOP, ENXIO: throw Self.irregular
        case ENOTDIR: throw SyncError(.badData, "not a folder")
        case let number: throw unread(name, for: number)
        }
    }

    /// Those of some files of a subfolder that are there and may not be read.
    func unread(among names: [String], in folder: String) -> [(name: String, error: SyncError)] {
        guard let directory = openFolder(folder) else { return [] }
        defer { close(directory) }
        return names.compactMap { last in
            var status = stat()
            guard faccessat(directory, last, R_OK, 0) != 0, errno == EACCES || errno == EPERM,
                fstatat(directory, last, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { return nil }
            let name = folder + "/" + last
            return (name, unread(name, for: EACCES))
        }
    }

    /// Why something that is there cannot be read, and who can change that.
    func unread(_ name: String, for number: Int32) -> SyncError {
        let path = full(name)
        let quoted = Shell.quoted(path)
        var status = stat()
        guard number == EACCES || number == EPERM, lstat(path, &status) == 0 else {
            return SyncError(
                number == EACCES || number == EPERM ? .notAllowed : .unreachable,
                "it cannot be read: \(String(cString: strerror(number)))", path: path,
                hint: "Look at it: ls -ld \(quoted)")
        }
        let isFolder = status.st_mode & S_IFMT == S_IFDIR
        // What was made in a replica's folder with the wrong permissions is seldom one file.
        let around = name.split(separator: "/").first.map(String.init) ?? ""
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return SyncError(
            .notAllowed,
            "it may not be read: the \(isFolder ? "folder" : "file") belongs to user id "
                + "\(status.st_uid) and has the mode \(mode), and user id \(geteuid()) needs "
                + (isFolder ? "permission to read and search it" : "permission to read it"),
            path: path,
            hint: Self.remedy(status, isFolder: isFolder, at: Shell.quoted(full(around))))
    }

    private static func remedy(_ status: stat, isFolder: Bool, at path: String) -> String {
        let wanted: mode_t = isFolder ? 0o5 : 0o4
        let others = status.st_mode & 0o7
        let group = status.st_mode >> 3 & 0o7
        let owner = "Its owner (user id \(status.st_uid)) runs"
        if status.st_uid == geteuid() {
            return status.st_mode >> 6 & wanted == wanted
                ? "Look at it: ls -ld \(path)" : "Run: chmod -R u+rX \(path)"
        }
        if isMember(of: status.st_gid) {
            return group & wanted == wanted
                ? "Look at it: ls -ld \(path)" : "\(owner): chmod -R g+rX \(path)"
        }
        if others & wanted == wanted { return "Look at it: ls -ld \(path)" }
        return "\(owner): chmod -R o+rX \(path) (or gives it a group that user id "
            + "\(geteuid()) is in, and runs: chmod -R g+rX)"
    }

    private static func isMember(of group: gid_t) -> Bool {
        if group == getegid() { return true }
        let count = getgroups(0, nil)
        guard count > 0 else { return false }
        var groups = [gid_t](repeating: 0, count: Int(count))
        let filled = getgroups(count, &groups)
        return groups.prefix(Int(max(filled, 0))).contains(group)
    }
}
