import SyncClient
import Varlink

/// A notice as a line of JSON.
enum NoticeLine {
    /// - Parameter store: added as the first key; nil: the line does not name its store.
    static func json(_ notice: Notice, store: String?) -> [UInt8] {
        guard let store else { return notice.json }
        var writer = JSONWriter()
        writer.write(string: store)
        return Array("{\"store\":".utf8) + writer.bytes + [UInt8(ascii: ",")]
            + notice.json.dropFirst()
    }
}
