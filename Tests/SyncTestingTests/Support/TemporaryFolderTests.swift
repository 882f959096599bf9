import Foundation
import SyncTesting
import Testing

@Suite struct TemporaryFolderTests {
    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test func aFolderIsEmptyAndGoesWithItsOwner() throws {
        var folder: TemporaryFolder? = try TemporaryFolder()
        let path = try #require(folder?.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/file"))
        folder = nil
        #expect(!exists(path))
    }

    @Test func twoFoldersAreDifferent() throws {
        let folders = try [TemporaryFolder(), TemporaryFolder()]
        #expect(folders[0].path != folders[1].path)
    }

    /// A socket's path has at most 107 bytes.
    @Test func namesAreShort() throws {
        let parent = FileManager.default.temporaryDirectory.path
        #expect(try TemporaryFolder().path.utf8.count <= parent.utf8.count + 24)
    }

    /// What a killed process left behind is removed; what a running one uses, and what others made,
    /// stays.
    @Test func whatNoProcessUsesIsRemoved() throws {
        let parent = try TemporaryFolder()
        let names = ["left", "used"].map { parent.file(TemporaryFolder.prefix + $0) }
        for path in names + [parent.file("other")] {
            try FileManager.default.createDirectory(
                atPath: path + "/below", withIntermediateDirectories: true)
        }
        let user = Process()
        user.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        user.arguments = ["flock", "--no-fork", names[1], "sh", "-c", "echo locked; exec sleep 60"]
        let output = Pipe()
        user.standardOutput = output
        try user.run()
        #expect(output.fileHandleForReading.readData(ofLength: 6) == Data("locked".utf8))

        TemporaryFolder.removeAbandoned(in: parent.path)
        #expect(!exists(names[0]))
        #expect(exists(names[1]) && exists(parent.file("other/below")))

        kill(user.processIdentifier, SIGKILL)
        user.waitUntilExit()
    }
}
