import Foundation
import Glibc
import Testing

@testable import synctool

/// The file of `metrics --output`: who could read it before still can, and nobody else.
@Suite("A file that is replaced")
final class ReplacedFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
        "replaced-" + UUID().uuidString
    ).path
    private var path: String { folder + "/syncd.prom" }

    init() { mkdir(folder, 0o755) }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func status(of path: String) -> stat {
        var status = stat()
        lstat(path, &status)
        return status
    }

    private func text() throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test func aNewOneHasWhatTheUmaskLeaves() throws {
        close(open(folder + "/other", O_CREAT | O_WRONLY, 0o666))
        try ReplacedFile(path: path).write("one\n")
        #expect(status(of: path).st_mode == status(of: folder + "/other").st_mode)
        #expect(try text() == "one\n")
    }

    @Test(arguments: [mode_t(0o600), 0o640, 0o664]) func modeAndOwnerStay(mode: mode_t) throws {
        try ReplacedFile(path: path).write("one\n")
        chmod(path, mode)
        let isRoot = geteuid() == 0
        if isRoot { chown(path, 65_534, 65_534) }
        let before = status(of: path)
        try ReplacedFile(path: path).write(String(repeating: "two\n", count: 100_000))
        let after = status(of: path)
        #expect(after.st_mode & 0o777 == mode && after.st_ino != before.st_ino)
        #expect(after.st_uid == before.st_uid && after.st_gid == before.st_gid)
        #expect(try text().utf8.count == 400_000)
    }

    @Test func draftsOfKilledCommandsAreRemoved() throws {
        let hourAgo = timespec(tv_sec: time(nil) - 3_700, tv_nsec: 0)
        for name in [".17.new", ".18.new", ".x.new", ".new"] {
            close(open(path + name, O_CREAT | O_WRONLY, 0o600))
            if name != ".18.new" {
                utimensat(AT_FDCWD, path + name, [hourAgo, hourAgo], 0)
            }
        }
        try ReplacedFile(path: path).write("one\n")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(
            names == ["syncd.prom", "syncd.prom.18.new", "syncd.prom.new", "syncd.prom.x.new"])
    }

    @Test func aFailureLeavesWhatWasThere() throws {
        mkdir(path, 0o755)
        #expect(throws: ReplacedFile.Failure.self) { try ReplacedFile(path: path).write("one\n") }
        #expect(status(of: path).st_mode & S_IFMT == S_IFDIR)
        #expect(throws: ReplacedFile.Failure.self) {
            try ReplacedFile(path: folder + "/none/syncd.prom").write("one\n")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["syncd.prom"])
    }
}
