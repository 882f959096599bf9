import NIOCore
import Testing

@testable import Varlink

/// A process that passes on the replies of another one knows where a call ends, unread.
@Suite struct RelayedReplyTests {
    @Test(
        arguments: [
            [:], ["text": .string("\"continues\":true}")],
            ["object": .object(["continues": .bool(true)])],
            ["list": .array([.object([:]), .bool(true)])], ["text": .string("}}")],
            ["text": .string("\u{0}\n}}\u{0}")], ["object": .object(["inner": .object([:])])],
        ] as [JSONObject])
    func theLastReplyIsKnownWhateverIsInIt(_ parameters: JSONObject) {
        for continues in [true, false] {
            let reply = EncodedReply(parameters, continues: continues)
            #expect(EncodedReply(relaying: reply.buffer).continues == continues)
        }
        let error = EncodedReply(VarlinkError("org.example.Failed", parameters: parameters))
        #expect(!EncodedReply(relaying: error.buffer).continues)
    }
}
