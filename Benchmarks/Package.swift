// swift-tools-version: 6.1
import PackageDescription

// Measurements against plain SQLite or against the floor; a package of its own, so that users of
// syncd never build it.
let package = Package(
    name: "syncd-benchmarks",
    products: [
        // Loaded before the program whose counts are wanted.
        .library(name: "CCounts", type: .dynamic, targets: ["CCounts"])
    ],
    dependencies: [
        .package(name: "syncd", path: ".."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .target(name: "CNotice", linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(
            name: "NoticeBenchmark",
            dependencies: [
                "CNotice", .product(name: "SyncCore", package: "syncd"),
                .product(name: "SyncClient", package: "syncd"),
            ]),
        .target(name: "CWriter", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "PlainWriter", dependencies: ["CWriter"]),
        .executableTarget(
            name: "CaptureBenchmark",
            dependencies: ["PlainWriter", .product(name: "SyncCore", package: "syncd")]),
        .executableTarget(
            name: "HistoryBenchmark",
            dependencies: ["PlainWriter", .product(name: "SyncCore", package: "syncd")]),
        .target(name: "CCounts"),
        .executableTarget(
            name: "MergeBenchmark",
            dependencies: ["CWriter", .product(name: "SyncReplica", package: "syncd")]),
        .executableTarget(
            name: "ObjectBenchmark",
            dependencies: [
                "CWriter", .product(name: "SyncCore", package: "syncd"),
                .product(name: "SyncObjects", package: "syncd"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
