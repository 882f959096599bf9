import Foundation
import SyncTesting
import Testing

/// Inputs that fuzzing found, for each target: those that reached something new, and those that
/// were findings once. `make fuzz` looks for more.
@Suite("Fuzzing corpus", .serialized, .timeLimit(.minutes(5)))
struct CorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Fuzz/corpus").standardized

    /// Every former finding is run, and as many of the rest.
    private static func inputsMax(_ target: FuzzTarget) -> Int { target.isSlow ? 4 : 40 }

    private static func drawnCount(_ target: FuzzTarget) -> Int { target.isSlow ? 2 : 40 }

    @Test("a target takes every input", arguments: FuzzTarget.all.map(\.name))
    func corpus(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder.appendingPathComponent(name), includingPropertiesForKeys: nil)
        #expect(!files.isEmpty, "a target without a corpus reaches nothing")
        let seed = TestSeed.fixed(1)
        var random = seed.random
        let found = files.filter { $0.lastPathComponent.hasPrefix("found-") }
        let rest = files.filter { !$0.lastPathComponent.hasPrefix("found-") }
            .sorted { $0.path < $1.path }.shuffled(using: &random)
        for file in found + rest.prefix(Self.inputsMax(target)) {
            try run(target, on: [UInt8](try Data(contentsOf: file)), file.lastPathComponent, seed)
        }
    }

    @Test("a target takes what a seed draws", arguments: FuzzTarget.all.map(\.name))
    func drawn(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let seed = TestSeed.fixed(1)
        var random = seed.random
        for _ in 0..<Self.drawnCount(target) {
            let count = random.below(min(target.bytesMax, 128))
            let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            try run(target, on: bytes, "drawn", seed)
        }
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
