// swift-tools-version: 6.1
import PackageDescription

// Measurements against plain SQLite or against the floor; a package of its own, so that users of
// syncd never build it.
let package = Package(
    name: "syncd-benchmarks",
    dependencies: [
        .package(name: "syncd", path: "..")
    ],
    targets: [
        .target(name: "CNotice", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "NoticeBenchmark",
            dependencies: ["CNotice", .product(name: "SyncCore", package: "syncd")]),
        .target(name: "CWriter", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "CaptureBenchmark",
            dependencies: ["CWriter", .product(name: "SyncCore", package: "syncd")]),
    ],
    swiftLanguageModes: [.v6]
)
