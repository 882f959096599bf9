import Foundation
import SyncTesting
import Testing

@testable import SyncStorage

/// Names of files that Swift's characters hide something of.
@Suite struct PathTests {
    /// A combining mark at the beginning of a name makes one character with the slash before it.
    @Test func everyFolderIsPassedThrough() throws {
        let folder = try TemporaryFolder()
        let path = PathResolution.resolved(folder.path) + "/\u{301}x.db"
        try Data().write(to: URL(fileURLWithPath: path))
        var count = 0
        #expect(
            PathWalk.file(at: path) { _, _ in
                count += 1
                return true
            } != nil)
        #expect(count == path.utf8.count { $0 == UInt8(ascii: "/") } + 1, "and the root")
        #expect(PathResolution.directory(of: path) == PathResolution.resolved(folder.path))
    }

    @Test func filesOfEquivalentNamesAreTwo() throws {
        let folder = try TemporaryFolder()
        for name in ["\u{e9}.db", "e\u{301}.db"] {
            try Data(name.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
        }
        let paths = ["\u{e9}.db", "e\u{301}.db"].map { PathResolution.resolved(folder.file($0)) }
        #expect(paths[0] == paths[1] && !paths[0].utf8.elementsEqual(paths[1].utf8))
        #expect(FileIdentity(path: paths[0]) != FileIdentity(path: paths[1]))
    }
}
