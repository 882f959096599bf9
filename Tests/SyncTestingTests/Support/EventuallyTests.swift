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

    @Test func blocksWhereATestIsNotAsynchronous() {
        var asked = 0
        let holds = blocking { () -> Bool in
            eventually {
                asked += 1
                return asked == 3
            }
        }
        #expect(holds && asked == 3)
        #expect(!blocking { eventually(within: .milliseconds(5)) { false } })
    }

    private func blocking(_ body: () -> Bool) -> Bool { body() }
}
