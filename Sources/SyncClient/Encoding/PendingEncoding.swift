import SyncCore
import Varlink

extension PendingChanges {
    /// `{"pending":true,"timestamp":…,"author":…,"changes":[…]}`: never a number or a token.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("pending")
        writer.write(bool: true)
        writer.name("timestamp")
        writer.write(string: timestamp.description)
        if let author {
            writer.name("author")
            writer.write(string: author)
        }
        writer.name("changes")
        writer.beginArray()
        for change in changes { writer.write(change) }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}
