import CLinux

#if canImport(Glibc)
    import Glibc
#endif

/// Goes along a path from the root, one descriptor after the other, and follows no symbolic link.
///
/// Each directory that `visit` was given is the one that the walk passes through: none can be
/// replaced in between. The descriptors are made with O_PATH, so that closing one of a
/// database file drops no locks (open(2); compare https://www.sqlite.org/howtocorrupt.html, 2.2).
package enum PathWalk {
    /// The file at an absolute path.
    /// - Parameter visit: gets a descriptor of each directory from the root on, then of the file
    ///   (`isLast`); false ends the walk.
    /// - Returns: the identity of the last file; nil when the path has a symbolic link, leads
    ///   nowhere, or `visit` ended the walk.
    /// - Complexity: O(components)
    package static func file(
        at path: String, visit: (_ descriptor: Int32, _ isLast: Bool) -> Bool = { _, _ in true }
    ) -> FileIdentity? {
        let components = path.utf8.split(separator: PathResolution.slashByte)
            .map { String(Substring($0)) }
        guard PathResolution.isAbsolute(path), !components.isEmpty else { return nil }
        var descriptor = syncd_open_path(AT_FDCWD, "/")
        for component in components {
            let directory = descriptor
            guard directory >= 0 else { return nil }
            defer { close(directory) }
            guard component != "..", visit(directory, false) else { return nil }
            descriptor = syncd_open_path(directory, component)
        }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFLNK,
            visit(descriptor, true)
        else { return nil }
        return FileIdentity(descriptor: descriptor)
    }
}
