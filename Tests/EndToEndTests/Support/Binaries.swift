import Foundation

/// The programs under test, as the build made them, and those of the system.
enum Binaries {
    /// Where this test runner lies: the build's products.
    private static let products: URL = {
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent()
    }()

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static var syncd: String { products.appendingPathComponent("syncd").path }
    static var synctool: String { products.appendingPathComponent("synctool").path }
    static let sqlite3 = "/usr/bin/sqlite3"

    /// Python with the package `varlink`: the environment that `make setup` makes.
    static var python: String {
        let own = root.appendingPathComponent(".venv/bin/python").path
        return FileManager.default.isExecutableFile(atPath: own) ? own : "/usr/bin/python3"
    }

    static var follower: String {
        root.appendingPathComponent("Examples/python/follow.py").path
    }

    /// Python without the package: any writer's.
    static let plainPython = "/usr/bin/python3"
}
