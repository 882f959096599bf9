import SyncTesting
import Testing

@Suite struct EventuallyTests {
    @Test func asksUntilTheAnswerIsYes() async {
        var asked = 0
        let holds = await eventually {
            asked += 1
            return asked == 3
        }
        #expect(holds && asked == 3)
    }

    @Test func endsWhenTheTimeIsOver() async {
        let start = ContinuousClock.now
        let holds = await eventually(within: .milliseconds(30)) { false }
        #expect(!holds)
        #expect(ContinuousClock.now - start >= .milliseconds(30))
    }

    @Test func anErrorEndsIt() async {
        struct Stop: Error {}
        await #expect(throws: Stop.self) { try await eventually { throw Stop() } }
    }

    @Test func aTestThatIsNotAsynchronousBlocks() {
        var asked = 0
        let holds = waitUntil {
            asked += 1
            return asked == 3
        }
        #expect(holds && asked == 3)
        let never = waitUntil(within: .milliseconds(5)) { false }
        #expect(!never)
    }
}
