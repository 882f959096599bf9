import Foundation
import SyncTesting
import Testing

/// `make install` and `make uninstall`, with files that stand for what `make build` makes.
@Suite("Installing", .timeLimit(.minutes(5)))
struct InstallTests {
    private let folder: TemporaryFolder
    private let built: String

    init() throws {
        folder = try TemporaryFolder()
        built = folder.file("program")
        let files = [
            "syncd", "man/man8/syncd.8", "man/man1/synctool.1",
            "completions/syncd.bash", "completions/syncd.zsh", "completions/syncd.fish",
            "completions/synctool.bash", "completions/synctool.zsh", "completions/synctool.fish",
        ]
        for file in files { try write("#!/bin/sh\n", to: built + "/" + file) }
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: built + "/syncd")
    }

    private func write(_ text: String, to path: String) throws {
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// No program of Swift and no package manager is on this PATH.
    private func make(
        _ target: String, prefix: String = "/usr/local", into root: String,
        home: String = "/nonexistent"
    ) throws -> Package.Ended {
        try Package.run(
            "/usr/bin/make",
            ["--no-print-directory", target, "PREFIX=\(prefix)", "DESTDIR=\(root)"],
            environment: ["OUT": built, "HOME": home, "SWIFT": "/nonexistent/swift"])
    }

    /// Files and links below a folder, relative to it; folders end with a slash.
    private func contents(of root: String) throws -> Set<String> {
        let found = try Package.run(
            "/usr/bin/find", [root, "-mindepth", "1", "-printf", "%P%y\\n"]
        ).text
        return Set(
            found.split(separator: "\n").map { line in
                let path = String(line.dropLast())
                return line.hasSuffix("d") ? path + "/" : path
            })
    }

    @Test func installsProgramsUnitsPagesAndCompletions() throws {
        let root = folder.file("root")
        let ended = try make("install", into: root)
        #expect(ended.status == 0, "\(ended.text)")
        let files = try contents(of: root)
        for file in [
            "bin/syncd", "bin/synctool", "lib/systemd/system/syncd.service",
            "lib/systemd/system/syncd.socket", "lib/systemd/user/syncd.service",
            "lib/systemd/user/syncd.socket", "lib/sysusers.d/syncd.conf",
            "lib/tmpfiles.d/syncd.conf", "share/man/man8/syncd.8", "share/man/man1/synctool.1",
            "share/bash-completion/completions/syncd", "share/zsh/site-functions/_synctool",
            "share/fish/vendor_completions.d/syncd.fish", "share/doc/syncd/README.md",
            "share/doc/syncd/docs/getting-started.md",
        ] {
            #expect(files.contains("usr/local/" + file), "\(file)")
        }
        let link = try FileManager.default.destinationOfSymbolicLink(
            atPath: root + "/usr/local/bin/synctool")
        #expect(link == "syncd")
        let unit = try String(
            contentsOfFile: root + "/usr/local/lib/systemd/system/syncd.service", encoding: .utf8)
        #expect(unit.contains("ExecStart=/usr/local/bin/syncd --system"))
        #expect(unit.contains("file:/usr/local/share/doc/syncd/docs/syncd.md"))
    }

    @Test func uninstallRemovesExactlyWhatInstallPut() throws {
        let root = folder.file("root")
        let others = ["bin/other", "share/man/man1/other.1", "lib/systemd/system/other.service"]
        for other in others { try write("of another program", to: root + "/usr/local/" + other) }
        let before = try contents(of: root)
        #expect(try make("install", into: root).status == 0)
        #expect(try contents(of: root) != before)
        let ended = try make("uninstall", into: root)
        #expect(ended.status == 0, "\(ended.text)")
        #expect(try contents(of: root) == before)
    }

    @Test func aSecondInstallRemovesWhatThisVersionLacks() throws {
        let root = folder.file("root")
        #expect(try make("install", into: root).status == 0)
        try FileManager.default.removeItem(atPath: built + "/man/man1/synctool.1")
        try write("", to: built + "/man/man1/synctool-new.1")
        #expect(try make("install", into: root).status == 0)
        let files = try contents(of: root)
        #expect(!files.contains("usr/local/share/man/man1/synctool.1"))
        #expect(files.contains("usr/local/share/man/man1/synctool-new.1"))
        #expect(try make("uninstall", into: root).status == 0)
        #expect(try contents(of: root).isEmpty)
    }

    @Test func unitsOfAHomeAreWhereTheUsersSystemdLooks() throws {
        let root = folder.file("root")
        let ended = try make("install", prefix: "/home/ann/.local", into: root, home: "/home/ann")
        #expect(ended.status == 0, "\(ended.text)")
        let files = try contents(of: root)
        #expect(files.contains("home/ann/.local/share/systemd/user/syncd.service"))
        #expect(files.contains("home/ann/.local/share/systemd/user/syncd.socket"))
        #expect(!files.contains { $0.contains("systemd/system/") || $0.contains("sysusers") })
        let unit = try String(
            contentsOfFile: root + "/home/ann/.local/share/systemd/user/syncd.service",
            encoding: .utf8)
        #expect(unit.contains("ExecStart=/home/ann/.local/bin/syncd --user"))
        #expect(try make("uninstall", prefix: "/home/ann/.local", into: root).status == 0)
        #expect(try contents(of: root).isEmpty)
    }

    @Test func withoutABuildItSaysWhatToRun() throws {
        try FileManager.default.removeItem(atPath: built + "/syncd")
        let ended = try Package.run(
            "scripts/install.sh",
            environment: ["OUT": built, "DESTDIR": folder.file("root"), "HOME": "/nonexistent"])
        #expect(ended.status == 66)
        #expect(ended.text.contains("make build"))
    }

    @Test func withoutAnInstallationThereIsNothingToRemove() throws {
        let ended = try Package.run(
            "scripts/uninstall.sh", environment: ["DESTDIR": folder.file("root")])
        #expect(ended.status == 66)
        #expect(ended.text.contains("nothing was installed"))
    }

    @Test func installingNeitherCompilesNorFetchesPackages() throws {
        let plan = try Package.run("/usr/bin/make", ["--dry-run", "install", "uninstall"]).text
        #expect(!plan.contains("setup") && !plan.contains("swift") && !plan.contains("build.sh"))
        #expect(!(try Package.text(of: "scripts/install.sh")).contains("apt"))
    }

    @Test func theTourNeedsNoSSHServer() throws {
        let packages = try Package.run("scripts/setup.sh", ["--list", "build", "demo"]).text
        #expect(packages.contains("libsqlite3-dev") && !packages.contains("openssh"))
        let plan = try Package.run("/usr/bin/make", ["--dry-run", "demo", "build"]).text
        #expect(plan.contains("setup.sh build demo") && !plan.contains("setup.sh test"))
    }
}
