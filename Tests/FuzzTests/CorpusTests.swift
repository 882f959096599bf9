import Foundation
import SyncTesting
import Testing

/// Inputs that fuzzing found, for each target: those that reached something new, and those that
/// were findings once. `make fuzz` looks for more.
@Suite("Fuzzing corpus", .serialized, .timeLimit(.minutes(5)))
struct CorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Fuzz/corpus").standardized

    /// Every former finding is run, and some of the rest: each target has its share of the time.
    private static let timeMax = Duration.milliseconds(1500)

    @Test("a target takes every input", arguments: FuzzTarget.all.map(\.name))
    func corpus(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder.appendingPathComponent(name), includingPropertiesForKeys: nil)
        #expect(!files.isEmpty, "a target without a corpus reaches nothing")
        let seed = TestSeed.drawn(for: name)
        var random = seed.random
        let found = files.filter { $0.lastPathComponent.hasPrefix("found-") }
        let rest = files.filter { !$0.lastPathComponent.hasPrefix("found-") }
            .sorted { $0.path < $1.path }.shuffled(using: &random)
        let end = ContinuousClock.now + Self.timeMax
        for (index, file) in (found + rest).enumerated() {
            if index >= found.count, ContinuousClock.now > end { break }
            try run(target, on: [UInt8](try Data(contentsOf: file)), file.lastPathComponent, seed)
        }
    }

    @Test("a target takes what a seed draws", arguments: FuzzTarget.all.map(\.name))
    func drawn(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let seed = TestSeed.drawn(for: name)
        var random = seed.random
        let end = ContinuousClock.now + .milliseconds(300)
        repeat {
            let count = random.below(min(target.bytesMax, 128))
            let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            try run(target, on: bytes, "drawn", seed)
        } while ContinuousClock.now < end
    }

    private func run(
        _ target: FuzzTarget, on bytes: [UInt8], _ name: String, _ seed: TestSeed
    ) throws {
        do {
            try target.run(bytes)
        } catch {
            Issue.record("\(target.name), \(name), \(seed): \(error)\n\(bytes)")
        }
    }
}
