import Foundation
import SyncCore

/// Puts the path that the user typed where a message has the absolute one, or the word DB.
struct TypedPath {
    private let typed: String?
    private let absolute: String?

    init(_ typed: String?) {
        self.typed = typed
        self.absolute = typed.map(StorePath.absolute)
    }

    func naming(_ text: String) -> String {
        guard let typed, let absolute, typed != absolute else { return text }
        return text.replacingOccurrences(of: absolute, with: typed)
    }

    /// Hints say `synctool history DB`: a person can paste it once DB is the file.
    func fillingIn(_ hint: String) -> String {
        guard let typed else { return hint }
        return hint.split(separator: " ", omittingEmptySubsequences: false)
            .map { word in
                // A comma may end it, and DB* are the files beside the database, too.
                let end = word.dropFirst(2)
                return word.hasPrefix("DB") && ["", ",", ";", ".", ")", "*"].contains(end)
                    ? Shell.quoted(typed) + end : String(word)
            }
            .joined(separator: " ")
    }
}
