import Foundation
import SyncTesting
import Testing

/// One version, one program, and a lock of what it is built from.
@Suite("Version and program", .timeLimit(.minutes(2)))
struct VersionTests {
    private func run(_ program: String, _ arguments: [String]) throws -> Package.Ended {
        try Package.run(Package.products.appending(path: program).path, arguments)
    }

    @Test func theVersionIsOne() throws {
        let version = try run("synctool", ["--version"]).text.trimmingCharacters(in: .newlines)
        #expect(try run("syncd", ["--version"]).text.hasPrefix(version))
        #expect(try Package.text(of: "debian/changelog").hasPrefix("syncd (\(version)) "))
        #expect(
            try Package.text(of: "docs/getting-started.md").contains("syncd_\(version)_amd64.deb"))
        let script = try Package.run("scripts/version.sh").text
        #expect(script == version + "\n")
    }

    @Test func dependenciesHaveExactVersions() throws {
        let manifest = try Package.text(of: "Package.swift")
        let end = try #require(manifest.range(of: "targets: [\n        .target"))
        let dependencies = manifest[..<end.lowerBound]
        let exact = dependencies.split(separator: "exact: ").count
        #expect(exact == dependencies.split(separator: ".package(url: ").count && exact > 5)
    }

    @Test func theNameOfTheFileDecidesWhichProgramRuns() throws {
        let folder = try TemporaryFolder()
        let program = Package.products.appending(path: "syncd").path
        for name in ["synctool", "syncd-next", "other"] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.file(name), withDestinationPath: program)
        }
        #expect(try Package.run(folder.file("synctool"), ["--help"]).text.contains("synctool <"))
        #expect(try Package.run(folder.file("syncd-next"), ["--help"]).text.contains("--check-"))
        let other = try Package.run(folder.file("other"), [])
        #expect(other.status == 64)
        #expect(other.text.contains("this program is syncd, or synctool"))
    }

    @Test(arguments: ["systemd/syncd.service", "systemd/user-syncd.service"])
    func fiveRestartsDoNotLockOut(unit: String) throws {
        let text = try Package.text(of: unit)
        let burst = text.split(separator: "\n").first { $0.hasPrefix("StartLimitBurst=") }
        #expect(try #require(burst).split(separator: "=").last.flatMap { Int($0) } ?? 0 >= 20)
    }
}
