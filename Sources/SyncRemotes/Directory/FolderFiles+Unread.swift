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
        var status = stat()
        guard number == EACCES || number == EPERM else {
            return SyncError(
                .unreachable, "it cannot be read: \(String(cString: strerror(number)))",
                path: path, hint: "Look at it: ls -ld \(Shell.quoted(path))")
        }
        // Below the folder no link is followed; the folder itself may be one.
        let isFound = (name.isEmpty ? stat(path, &status) : lstat(path, &status)) == 0
        guard isFound else { return Self.barred(path) }
        let isFolder = status.st_mode & S_IFMT == S_IFDIR
        // What was made in a replica's folder with the wrong permissions is seldom one file.
        let around = name.split(separator: "/").first.map(String.init) ?? ""
        let wanted: mode_t = isFolder ? 0o5 : 0o4
        let isListed = isFolder && access(path, R_OK) == 0
        let right = isListed ? "search it" : isFolder ? "read and search it" : "read it"
        return SyncError(
            .notAllowed,
            "it may not be read: the \(Self.owned(status, isFolder: isFolder)), and user id "
                + "\(geteuid()) needs permission to \(right)",
            operation: SyncError.reading, path: path,
            hint: Self.remedy(
                status, wanted: wanted, change: "-R", "rX", at: Shell.quoted(full(around))))
    }

    /// Why nothing can be said of what is at a path: a folder on the way to it may not be searched.
    private static func barred(_ path: String) -> SyncError {
        var status = stat()
        var folder = path
        repeat {
            guard let slash = folder.lastIndex(of: "/"), slash != folder.startIndex else { break }
            folder = String(folder[..<slash])
        } while stat(folder, &status) != 0
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return SyncError(
                .notAllowed, "it cannot be read: permission denied on the way to it",
                operation: SyncError.reading, path: path,
                hint: "Look at the folders: namei -l \(Shell.quoted(path))")
        }
        return SyncError(
            .notAllowed,
            "it cannot be reached: \(owned(status, isFolder: true, name: folder)), and user id "
                + "\(geteuid()) needs permission to search it",
            operation: SyncError.reading, path: path,
            hint: remedy(status, wanted: 0o1, change: nil, "x", at: Shell.quoted(folder)))
    }

    /// `folder /mnt/x belongs to user id 0 and has the mode 700`.
    private static func owned(_ status: stat, isFolder: Bool, name: String? = nil) -> String {
        (isFolder ? "folder" : "file") + (name.map { " " + $0 } ?? "")
            + " belongs to user id \(status.st_uid) and has the mode "
            + String(status.st_mode & 0o7777, radix: 8)
    }

    /// What gives this process the permissions that it lacks.
    ///
    /// - Parameters:
    ///   - wanted: as of one of the three classes of a mode.
    ///   - option: of `chmod`.
    ///   - letters: of the permissions, as `chmod` takes them.
    private static func remedy(
        _ status: stat, wanted: mode_t, change option: String?, _ letters: String, at path: String
    ) -> String {
        func change(_ who: String) -> String {
            "chmod \(option.map { $0 + " " } ?? "")\(who)+\(letters)"
        }
        let look = "Look at it: ls -ld \(path)"
        let others = status.st_mode & 0o7
        let group = status.st_mode >> 3 & 0o7
        let owner = "Its owner (user id \(status.st_uid)) runs"
        if status.st_uid == geteuid() {
            return status.st_mode >> 6 & wanted == wanted
                ? look : "Run: \(change("u")) \(path)"
        }
        if isMember(of: status.st_gid) {
            return group & wanted == wanted ? look : "\(owner): \(change("g")) \(path)"
        }
        if others & wanted == wanted { return look }
        return "\(owner): \(change("o")) \(path) (or gives it a group that user id "
            + "\(geteuid()) is in, and runs: \(change("g")))"
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
