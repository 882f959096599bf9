import SyncCore
import Testing

@testable import syncd

/// What the journal shows of a message: the fields are not shown by default.
@Suite struct JournalLogTests {
    private let path = "/srv/my music.db"

    @Test func aMessageAboutAStoreBeginsWithItsPath() {
        for message in [
            "opened", "left alone: to have it tried: synctool track \(path)", "\(path): opened",
            "another program truncated \(path)-shm: the store is opened again",
        ] {
            let text = JournalLog.text(message, of: .string(path))
            #expect(text.hasPrefix(path + ": ") && text.hasSuffix(message), "\(text)")
        }
        #expect(JournalLog.text("ready", of: nil) == "ready")
    }

    @Test func theSentenceOfAnErrorHasNeitherOperationNorFile() {
        let error = SyncError(
            .readOnly, "it cannot be written", operation: "open", path: path, hint: "Try again")
        #expect(error.sentence == "it cannot be written. Try again")
        #expect(JournalLog.text(error.sentence, of: .string(path)) == path + ": " + error.sentence)
    }
}
