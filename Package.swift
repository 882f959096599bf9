// swift-tools-version: 6.1
import PackageDescription

// The page of `synctool ui`, compiled into the program.
let pageFiles = [
    "index.html", "page.css", "icon.svg", "page.js", "service.js", "text.js", "timeline.js",
    "object.js", "conflicts.js", "overview.js", "plots.js",
]

// Targets are layers: docs/ARCHITECTURE.md says what each one does and may import.
let package = Package(
    name: "syncd",
    products: [
        .library(name: "SyncCore", targets: ["SyncCore"]),
        .library(name: "SyncReplica", targets: ["SyncReplica"]),
        .library(name: "SyncClient", targets: ["SyncClient"]),
        .library(name: "SyncObjects", targets: ["SyncObjects"]),
        .library(name: "Varlink", targets: ["Varlink"]),
        .library(name: "SyncTesting", targets: ["SyncTesting"]),
        .executable(name: "syncd", targets: ["Programs"]),
        .executable(name: "synctool", targets: ["Programs"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "CLinux"),
        .target(name: "CFaults", linkerSettings: [.linkedLibrary("sqlite3")]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(
            name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .target(
            name: "Varlink",
            dependencies: [
                "CLinux",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "varlink-certification", dependencies: ["Varlink"],
            path: "Sources/VarlinkCertification"),
        .target(name: "SyncValues"),
        .target(
            name: "SyncStorage",
            dependencies: [
                "SyncValues", "CSQLite", "CLinux",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .target(
            name: "SyncCore",
            dependencies: [
                "SyncStorage", "SyncValues", "CSQLite", "CLinux",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .target(
            name: "SyncMerge",
            dependencies: [
                "SyncValues", "CZstd", .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .target(
            name: "SyncReplica",
            dependencies: [
                "SyncCore", "SyncMerge", "SyncStorage", "SyncValues", "CLinux", "CSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .target(
            name: "SyncRemotes",
            dependencies: [
                "SyncReplica", "SyncCore", "SyncMerge", "CLinux",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        .target(
            name: "SyncTesting",
            dependencies: [
                "SyncReplica", "SyncCore", "SyncMerge", "SyncStorage", "SyncValues", "CSQLite",
                "CFaults",
            ]),
        .target(
            name: "SyncClient",
            dependencies: [
                "SyncCore", "Varlink", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            resources: [.embedInCode("Interface/org.syncd.Store.varlink")]),
        .target(name: "CObjects"),
        .target(
            name: "SyncObjects",
            dependencies: [
                "SyncCore", "SyncStorage", "SyncClient", "CSQLite", "CObjects",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .target(
            name: "syncd",
            dependencies: [
                "SyncReplica", "SyncCore", "SyncMerge", "SyncStorage", "SyncClient", "SyncRemotes",
                "Varlink", "CLinux", "CSQLite", "CSystemd",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Yams", package: "Yams"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .target(
            name: "synctool",
            dependencies: [
                "SyncReplica", "SyncCore", "SyncStorage", "SyncMerge", "SyncClient", "SyncRemotes",
                "Varlink", "CLinux",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            resources: pageFiles.map { .embedInCode("Page/Assets/" + $0) }),
        .executableTarget(name: "Programs", dependencies: ["SyncClient", "syncd", "synctool"]),
        .executableTarget(
            name: "todo", dependencies: ["SyncObjects"], path: "Examples/Todo"),
        .executableTarget(
            name: "objectstress", dependencies: ["SyncObjects", "SyncCore", "SyncTesting"],
            path: "Tests/ObjectStress"),
        .executableTarget(
            name: "syncsim",
            dependencies: [
                "SyncReplica", "SyncTesting",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .testTarget(
            name: "VarlinkTests",
            dependencies: [
                "Varlink", "varlink-certification", "SyncTesting",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .testTarget(name: "SyncValuesTests", dependencies: ["SyncValues", "SyncTesting"]),
        .testTarget(
            name: "SyncStorageTests",
            dependencies: [
                "SyncStorage", "SyncValues", "SyncTesting", "CSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "SyncCoreTests",
            dependencies: ["SyncReplica", "SyncStorage", "SyncValues", "SyncTesting", "CSQLite"]),
        .testTarget(
            name: "SyncClientTests", dependencies: ["SyncClient", "SyncCore", "SyncTesting"]),
        .testTarget(name: "SyncTestingTests", dependencies: ["SyncTesting"]),
        .testTarget(
            name: "SynctoolTests",
            dependencies: ["synctool", .product(name: "NIOHTTP1", package: "swift-nio")]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "syncd", "synctool", "SyncClient", "SyncCore", "SyncTesting", "Varlink",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Fixtures"]),
        .testTarget(
            name: "SyncdTests",
            dependencies: [
                "syncd", "synctool", "SyncClient", "SyncCore", "SyncStorage", "SyncTesting",
                "Varlink",
            ]),
        .testTarget(name: "PackagingTests", dependencies: ["SyncTesting"]),
        .testTarget(
            name: "SyncObjectsTests",
            dependencies: [
                "SyncObjects", "SyncClient", "SyncTesting", "syncd", "todo", "objectstress",
            ]),
        .testTarget(
            name: "SyncMergeTests", dependencies: ["SyncMerge", "SyncValues", "SyncTesting"],
            exclude: ["Batch/Fixtures"]),
        .testTarget(
            name: "SyncReplicaTests",
            dependencies: ["SyncReplica", "SyncRemotes", "SyncTesting", "syncsim"]),
        .testTarget(
            name: "SyncRemotesTests", dependencies: ["SyncReplica", "SyncRemotes", "SyncTesting"]),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "syncd", "synctool", "SyncObjects", "SyncRemotes", "SyncReplica", "SyncClient",
                "SyncMerge", "SyncCore", "SyncStorage", "SyncValues", "SyncTesting", "Varlink",
                "CSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "SyncClient", "SyncCore", "SyncObjects", "SyncTesting", "syncd", "synctool",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// SYNCD_TESTS="SyncMergeTests SyncRemotesTests" builds these test targets alone: a shorter wait while one
// layer is worked on.
if let chosen = Context.environment["SYNCD_TESTS"] {
    let names = chosen.split(separator: " ").map(String.init)
    package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}

// SYNCD_DOCS=1 adds the plugin that `make docs` needs. Users of the libraries do not resolve it.
if Context.environment["SYNCD_DOCS"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
