import Glibc

/// Paths of database files.
enum FilePath {
    /// The path with links resolved; of a file that is not there, with the links of its directory.
    static func resolved(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex,
            let directory = realpath(String(path[..<slash]), nil)
        else { return path }
        defer { free(directory) }
        return String(cString: directory) + path[slash...]
    }
}
