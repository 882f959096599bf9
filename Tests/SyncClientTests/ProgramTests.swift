import Testing

@testable import SyncClient

/// Which program a name starts.
@Suite struct ProgramTests {
    @Test(arguments: [
        ("syncd", Program.daemon), ("/usr/bin/syncd", .daemon), ("./syncd-0.1.0", .daemon),
        ("/proc/self/exe", .daemon), ("synctool", .tool), ("/usr/bin/synctool", .tool),
        ("synctool.old", .tool),
    ])
    func namesOfPrograms(_ path: String, _ program: Program) {
        #expect(Program(calledAs: path) == program)
    }

    @Test(arguments: ["", "/", "sync", "st", "/usr/bin/mysyncd", "syncd/other"])
    func otherNamesAreNone(_ path: String) {
        #expect(Program(calledAs: path) == nil)
    }
}
