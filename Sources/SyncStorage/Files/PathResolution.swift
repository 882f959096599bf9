import Glibc

/// Absolute paths without symbolic links.
package enum PathResolution {
    /// A combining mark that a name begins with makes one character with the slash before it: paths
    /// are taken apart by bytes.
    package static let slashByte = UInt8(ascii: "/")

    /// Whether a path begins at the root.
    package static func isAbsolute(_ path: String) -> Bool { path.utf8.first == slashByte }

    /// `path` with its links resolved. For a file that does not exist the links of its directory
    /// are resolved; a path whose directory does not exist, or that has a NUL, is returned
    /// unchanged.
    package static func resolved(_ path: String) -> String {
        // To the system it would end there, and name another file.
        if path.utf8.contains(0) { return path }
        if let resolved = real(path) { return resolved }
        guard let slash = path.utf8.lastIndex(of: slashByte), slash != path.startIndex,
            let directory = real(String(path[..<slash]))
        else { return path }
        return directory + path[slash...]
    }

    /// The directory of the file that `path` names, links resolved.
    package static func directory(of path: String) -> String {
        let full = resolved(isAbsolute(path) ? path : "./" + path)
        guard let slash = full.utf8.lastIndex(of: slashByte), slash != full.startIndex else {
            return "/"
        }
        return String(full[..<slash])
    }

    private static func real(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
