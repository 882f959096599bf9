import Foundation

@testable import syncd

/// Any bytes in a file: a configuration, or a fault that names the file.
enum ConfigurationTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        // Foundation itself leaks when it reads an empty file.
        guard !bytes.isEmpty else { return }
        let file = FuzzFolder.file("syncd.yaml")
        try write(bytes, to: file)
        var configuration = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
        do {
            try ConfigurationReader.read(
                into: &configuration, file: file, isRequired: true,
                storesDirectory: "/nowhere/stores.d")
            // What the daemon asks of it at once.
            _ = configuration.remotesByPath
        } catch let fault as ConfigurationFault {
            try require(fault.place == file, "a fault of another file: \(fault)")
        } catch {
            throw Finding("the configuration throws ConfigurationFault alone: \(error)")
        }
    }
}
