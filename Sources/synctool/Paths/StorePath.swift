import Foundation

/// Paths as the user types them and as the daemon needs them.
enum StorePath {
    /// The absolute path, with symbolic links followed where the file exists.
    static func absolute(_ typed: String) -> String {
        let url = URL(fileURLWithPath: typed).standardizedFileURL
        return url.resolvingSymlinksInPath().path
    }
}
