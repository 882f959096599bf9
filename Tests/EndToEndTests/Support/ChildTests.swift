import Foundation
import Testing

/// What the tests of commands stand on.
@Suite struct ChildTests {
    @Test func aChildLeavesNoDescriptor() async throws {
        try await Scene.with { scene in
            for _ in 0..<3 { try await scene.tool("--version").expectSuccess() }
            let own = "/proc/self/fd"
            let open = try FileManager.default.contentsOfDirectory(atPath: own)
                .compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(atPath: "\(own)/\($0)")
                }
                .filter { $0.hasPrefix(scene.folder.path("")) }
            #expect(open.isEmpty, "\(open)")
        }
    }
}
