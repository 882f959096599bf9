import SyncCore

#if canImport(Glibc)
    import Glibc
#endif

/// Paths whose bytes are no UTF-8. Linux allows them; what synctool prints, and the daemon's
/// protocol, is Unicode text, so that no such file can be named.
enum UnreadablePath {
    /// The error of the first argument that is no UTF-8; nil: all are.
    ///
    /// - Parameter arguments: as the program got them, without its name.
    /// - Complexity: O(bytes)
    static func error(in arguments: [[UInt8]]) -> SyncError? {
        for bytes in arguments where !isText(bytes) {
            let shown = String(decoding: bytes, as: UTF8.self)
            return SyncError(
                .invalidArgument, "the argument '\(shown)' is not UTF-8, as names have to be",
                hint: "Give the file or folder another name, for example: mv caf*.db cafe.db")
        }
        return nil
    }

    /// An error that says that a file is not there, where the path of the working folder keeps it
    /// from being found; else the same.
    static func explaining(_ error: SyncError, typed: String?) -> SyncError {
        guard error.code == .noSuchFile, let typed, !typed.hasPrefix("/"),
            let folder = workingFolder, !isText(folder)
        else { return error }
        return SyncError(
            .noSuchFile,
            "the path of the working folder is not UTF-8, as names have to be: "
                + String(decoding: folder, as: UTF8.self), path: typed,
            hint: "Give the folder another name")
    }

    /// The arguments of this process, without its name.
    static var arguments: [[UInt8]] {
        (1..<max(1, Int(CommandLine.argc))).compactMap { position in
            CommandLine.unsafeArgv[position].map { text in
                (0..<strlen(text)).map { UInt8(bitPattern: text[$0]) }
            }
        }
    }

    private static var workingFolder: [UInt8]? {
        guard let text = getcwd(nil, 0) else { return nil }
        defer { free(text) }
        return (0..<strlen(text)).map { UInt8(bitPattern: text[$0]) }
    }

    static func isText(_ bytes: [UInt8]) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }
}
