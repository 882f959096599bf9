import SyncReplica
import Varlink

/// Remotes as lines of text, or as JSON.
enum RemoteText {
    static func lines(_ remotes: [RemoteEntry]) -> [String] {
        var table = TextTable(styles: [.strong])
        for remote in remotes {
            var remarks: [String] = []
            if remote.isEncrypted { remarks.append("encrypted") }
            if remote.options.encrypted == false { remarks.append("in the clear") }
            if remote.options.manual == true { remarks.append("manual") }
            table.add(remote.name, remote.shownURL, remarks.joined(separator: ", "))
        }
        return table.lines(on: .output)
    }

    static func json(_ remote: RemoteEntry) -> JSONObject {
        [
            "name": .string(remote.name), "url": .string(remote.shownURL),
            "encrypted": .bool(remote.isEncrypted),
            "manual": .bool(remote.options.manual ?? false),
            "synctool": .text(remote.options.synctool),
        ]
    }
}
