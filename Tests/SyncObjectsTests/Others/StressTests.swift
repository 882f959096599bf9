import Foundation
import SyncTesting
import Testing

/// Four processes with six threads each, doing random things to a thousand objects, compare what
/// their contexts show with the store. The long form, with the thread sanitizer: `make stress`.
@Suite(.timeLimit(.minutes(3))) struct StressTests {
    @Test func contextsEqualTheStoreAtTheEnd() async throws {
        let folder = try TemporaryFolder()
        let output: URL = folder.file("out")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: OtherProcess.product("objectstress"))
        process.arguments = [folder.file("stress.sqlite").path, "--seconds", "3"]
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let hasEnded = await eventually(within: .seconds(150)) { !process.isRunning }
        if !hasEnded { kill(process.processIdentifier, SIGKILL) }
        let text = try String(contentsOf: output, encoding: .utf8)
        try #require(hasEnded, "\(text)")
        #expect(process.terminationStatus == 0, "\(text)")
    }
}
