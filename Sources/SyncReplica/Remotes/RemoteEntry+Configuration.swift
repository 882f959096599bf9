import Foundation

extension RemoteEntry {
    /// The entry of the daemon's configuration that has it synchronise the store at `path` with
    /// this remote: lines of YAML, for a file in `stores.d`.
    package func configuration(of path: String) -> [String] {
        var members = ["name: \(name)", "url: \(Self.quoted(url))"]
        if let encrypted = options.encrypted { members.append("encrypted: \(encrypted)") }
        if let synctool = options.synctool { members.append("synctool: \(Self.quoted(synctool))") }
        return [
            "stores:", "  - path: \(Self.quoted(path))", "    remotes:",
            "      - {\(members.joined(separator: ", "))}",
        ]
    }

    /// As in JSON, which is YAML: control characters of an address that a stranger wrote are
    /// escaped.
    private static func quoted(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let data = (try? encoder.encode(text)) ?? Data("\"\"".utf8)
        return String(decoding: data, as: UTF8.self)
    }
}
