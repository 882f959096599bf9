import Foundation
import Testing

/// `scripts/test.py`, which `make test` runs, with a `swift` that plays what a run may bring: the
/// end of a log has to say what failed.
@Suite("The summary of a test run", .timeLimit(.minutes(3)))
struct TestSummaryTests {
    /// Runs one group against a program that stands for `swift`.
    private func run(
        test: String, build: String = "exit 0", seconds: String = "30"
    ) async throws -> Child.Output {
        let folder = try Folder()
        defer { folder.remove() }
        let program = folder.path("swift")
        // Called as: swift test --skip-build --event-stream-output-path FILE --filter GROUP
        let text = """
            #!/bin/bash
            event() { printf '{"kind":"event","payload":%s}\\n' "$1" >>"$events"; }
            if [ "$1" = build ]; then \(build); exit 0; fi
            events=$4
            \(test)
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        var environment = ProcessInfo.processInfo.environment
        environment["SWIFT"] = program
        environment["SYNCD_TEST_GROUP_SECONDS"] = seconds
        let script = Binaries.root.appendingPathComponent("scripts/test.py").path
        return try await Child(
            Binaries.plainPython, [script, "SomeTests --no-parallel"], in: folder,
            environment: environment
        ).output()
    }

    private func began(_ test: String) -> String {
        "event '{\"kind\":\"testStarted\",\"messages\":[],\"testID\":\"M.SomeTests/\(test)/S.swift:5:6\"}'"
    }

    private func ended(_ test: String, _ symbol: String) -> String {
        let message = "{\"symbol\":\"\(symbol)\",\"text\":\"ended\"}"
        return "event '{\"kind\":\"testEnded\",\"messages\":[\(message)],"
            + "\"testID\":\"M.SomeTests/\(test)/S.swift:5:6\"}'"
    }

    private func issue(_ test: String, _ text: String) -> String {
        let place = "{\"fileID\":\"M/S.swift\",\"line\":7}"
        return
            "event '{\"kind\":\"issueRecorded\",\"issue\":{\"isFailure\":true,\"sourceLocation\":\(place)},"
            + "\"messages\":[{\"symbol\":\"fail\",\"text\":\"\(text)\"}],"
            + "\"testID\":\"M.SomeTests/\(test)/S.swift:5:6\"}'"
    }

    @Test func namesTheTestsThatFailedAndTheirMessages() async throws {
        let output = try await run(
            test: [
                began("good()"), began("bad()"), issue("bad()", "Expectation failed: 1 == 2"),
                ended("good()", "pass"), ended("bad()", "fail"), "echo noise", "exit 1",
            ].joined(separator: "\n"))
        #expect(output.status == 1)
        #expect(
            output.lines.suffix(3) == [
                "1 passed, 1 failed, 0 skipped", "M.SomeTests/bad()",
                "    S.swift:7: Expectation failed: 1 == 2",
            ])
    }

    @Test func isShort() async throws {
        let tests = (0..<100).map { "t\($0)()" }
        let lines = tests.flatMap { [began($0), issue($0, "no\\nno\\nno"), ended($0, "fail")] }
        let output = try await run(test: (lines + ["exit 1"]).joined(separator: "\n"))
        #expect(output.status == 1)
        #expect(output.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 61)
        #expect(output.text.contains("0 passed, 100 failed"))
        #expect(output.lines.last?.hasSuffix("more lines") == true)
    }

    @Test func namesWhatRanWhenTheProcessCrashed() async throws {
        let output = try await run(
            test: [
                began("good()"), ended("good()", "pass"), began("crashing()"),
                "echo 'A.swift:9: Fatal error: Index out of range' >&2", "exit 1",
            ].joined(separator: "\n"))
        #expect(output.status == 1)
        #expect(
            output.lines.suffix(2) == [
                "crashed: A.swift:9: Fatal error: Index out of range",
                "not ended: M.SomeTests/crashing()",
            ])
    }

    @Test func endsAGroupThatHangsWithAllThatItStarted() async throws {
        let mark = "syncd-hanging-\(UInt32.random(in: 0 ... .max))"
        let output = try await run(
            test: [
                began("hanging()"), "(exec -a \(mark) sleep 600) &", "set -m",
                "(exec -a \(mark) sleep 600) &", "wait",
            ].joined(separator: "\n"), seconds: "4")
        #expect(output.status == 1)
        #expect(output.lines.last == "not ended: M.SomeTests/hanging()")
        #expect(output.text.contains("did not end within 4 s"))
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc")
            .filter { Int($0) != nil }
            .compactMap { try? String(contentsOfFile: "/proc/\($0)/cmdline", encoding: .utf8) }
        #expect(!names.contains { $0.hasPrefix(mark) })
    }

    @Test func namesTheErrorsOfABuild() async throws {
        let output = try await run(
            test: "exit 0", build: "echo 'A.swift:1:2: error: cannot find it'; echo more; exit 1")
        #expect(output.status == 1)
        #expect(
            output.lines.suffix(2) == [
                "the tests do not build:", "A.swift:1:2: error: cannot find it",
            ])
    }

    @Test func aRunWithoutATestIsNoSuccess() async throws {
        let output = try await run(test: "exit 0")
        #expect(output.status == 1)
        #expect(output.lines.last?.contains("ran no test") == true)
    }
}
