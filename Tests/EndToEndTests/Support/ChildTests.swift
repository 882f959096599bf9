import Foundation
import Testing

/// What the tests of commands stand on.
@Suite struct ChildTests {
    /// A test that forgets a daemon, or fails before it stops it, leaves none.
    @Test func noProcessOutlivesItsScene() async throws {
        struct Stopped: Error {}
        var children: [Child] = []
        try await Scene.with { scene in
            children.append(try scene.start("/bin/sleep", "1000"))
            let daemon = try await scene.startDaemon()
            children.append(daemon)
        }
        await #expect(throws: Stopped.self) {
            try await Scene.with { scene in
                children.append(try scene.start("/bin/sleep", "1000"))
                throw Stopped()
            }
        }
        #expect(children.count == 3)
        for child in children { #expect(kill(child.pid, 0) != 0 || !child.isRunning) }
    }

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
