import Foundation
import Glibc
import Logging
import SyncRemotes
import SyncReplica
import Yams

/// Reads the configuration's files. Unknown keys and values of a wrong type are faults that name
/// file and line: if a misspelt key were ignored, a store would silently not be watched.
struct ConfigurationReader {
    /// Applies the main file and those of the stores directory, by name, to `configuration`. What
    /// others may write is a fault (``TrustedFile``).
    ///
    /// - Parameter isRequired: the main file was named: it has to exist.
    /// - Throws: ``ConfigurationFault``.
    static func read(
        into configuration: inout Configuration, file: String, isRequired: Bool,
        storesDirectory: String
    ) throws {
        try requireTrust(in: TrustedFile.parent(of: file), as: .parent)
        if let text = try contents(of: file, isRequired: isRequired) {
            let root = try YAMLReader(file: file, text: text)
            try readMain(root, into: &configuration)
            configuration.sources.merge(root.places()) { $1 }
        }
        try requireTrust(in: storesDirectory, as: .folder)
        for file in try storeFiles(
            in: storesDirectory, ignoring: &configuration.ignoredFiles)
        {
            guard let text = try contents(of: file, isRequired: true) else { continue }
            let root = try YAMLReader(file: file, text: text)
            try root.members { key, value in
                guard key == "stores" else { throw root.unknown(key, at: value, known: ["stores"]) }
                configuration.stores += try value.list(readStore)
            }
        }
    }

    private static func readMain(
        _ root: YAMLReader, into configuration: inout Configuration
    ) throws {
        try root.members { key, value in
            switch key {
            case "socket": configuration.socket = try value.absolutePath()
            case "socketMode": configuration.socketMode = try value.mode()
            case "state": configuration.stateDirectory = try value.absolutePath()
            case "log": configuration.logLevel = try value.logLevel()
            case "connections": configuration.connectionsMax = try value.integer(1...65_536)
            case "queuedBytes":
                configuration.queuedBytesMax = try value.integer(4096...(1 << 30))
            case "purge": configuration.limits = try readLimits(value)
            case "compare":
                configuration.compareInterval =
                    value.isWord("never") ? nil : try value.duration()
            case "sync": try readSync(value, into: &configuration.replication)
            case "workers": try readWorkers(value, into: &configuration.workers)
            case "metrics": try readMetrics(value, into: &configuration.metrics)
            case "stores": configuration.stores += try value.list(readStore)
            default: throw root.unknown(key, at: value, below: "")
            }
        }
    }

    private static func readSync(
        _ node: YAMLReader, into options: inout ReplicationOptions
    ) throws {
        try node.members { key, value in
            switch key {
            case "enabled": options.isEnabled = try value.bool()
            case "delayMilliseconds": options.delayMilliseconds = try value.integer(0...60_000)
            case "intervalSeconds": options.intervalSeconds = try value.integer(1...86_400)
            case "retryMaxSeconds": options.retryMaxSeconds = try value.integer(1...86_400)
            default: throw node.unknown(key, at: value, below: "sync")
            }
        }
    }

    private static func readWorkers(
        _ node: YAMLReader, into options: inout WorkerOptions
    ) throws {
        try node.members { key, value in
            switch key {
            case "enabled": options.isEnabled = try value.bool()
            case "memory":
                options.memoryBytes = try value.byteCount()
                guard options.memoryBytes >= WorkerOptions.memoryBytesMin else {
                    throw value.unexpected("256MB or more")
                }
            case "answerSeconds": options.answerSeconds = try value.integer(1...3600)
            default: throw node.unknown(key, at: value, below: "workers")
            }
        }
    }

    private static func readMetrics(
        _ node: YAMLReader, into options: inout MetricsOptions
    ) throws {
        try node.members { key, value in
            switch key {
            case "socket": options.socket = try value.absolutePath()
            case "socketMode": options.socketMode = try value.mode()
            case "listen": options.listen = try value.loopback()
            case "stores":
                options.stores = try value.choice(
                    Dictionary(
                        uniqueKeysWithValues: MetricsOptions.Stores.allCases.map {
                            ($0.rawValue, $0)
                        }))
            default: throw node.unknown(key, at: value, below: "metrics")
            }
        }
    }

    private static func readStore(_ node: YAMLReader) throws -> Configuration.StoreEntry {
        if let path = try node.pathAlone() {
            return Configuration.StoreEntry(path: path, place: node.place)
        }
        var path: String?
        var entry = Configuration.StoreEntry(path: "", place: node.place)
        try node.members { key, value in
            switch key {
            case "path": path = try value.absolutePath()
            case "track": entry.track = try value.bool()
            case "entities": entry.entities = try value.list { try $0.string() }
            case "undo": entry.undo = try value.list { try $0.string() }
            case "keep": entry.keepsValues = try value.choice(["all": true, "none": false])
            case "purge": entry.limits = try readLimits(value)
            case "remotes": entry.remotes = try readRemotes(value)
            default: throw node.unknown(key, at: value, below: "stores[]")
            }
        }
        guard let path else { throw node.fault("a store needs a path") }
        entry.path = path
        return entry
    }

    private static func readRemotes(_ node: YAMLReader) throws -> [RemoteEntry] {
        let remotes = try node.list(readRemote)
        var names = ExactSet()
        for remote in remotes where !names.insert(remote.name) {
            throw node.fault("there are two remotes '\(remote.name)'")
        }
        return remotes
    }

    private static func readRemote(_ node: YAMLReader) throws -> RemoteEntry {
        var name: String?
        var url: String?
        var options = RemoteEntry.Options()
        try node.members { key, value in
            switch key {
            case "name": name = try value.string()
            case "url": url = try value.string()
            case "encrypted": options.encrypted = try value.bool()
            case "synctool": options.synctool = try value.string()
            default: throw node.unknown(key, at: value, below: "stores[].remotes[]")
            }
        }
        guard let name, let url else { throw node.fault("a remote needs a name and a url") }
        do {
            _ = try RemoteAddress(url)
            return try RemoteEntry(name: name, url: url, options: options)
        } catch let error as SyncError {
            throw node.fault(error.reason + (error.hint.map { ". " + $0 } ?? ""))
        }
    }

    private static func readLimits(_ node: YAMLReader) throws -> HistoryLimits {
        var limits = HistoryLimits()
        try node.members { key, value in
            switch key {
            case "age": limits.age = try value.duration()
            case "size": limits.bytes = try value.byteCount()
            default: throw node.unknown(key, at: value, below: "purge")
            }
        }
        return limits
    }

    private static func contents(of file: String, isRequired: Bool) throws -> String? {
        do {
            guard isRegular(file) else {
                throw ConfigurationFault(
                    in: file,
                    "it is not a regular file. For a configuration without stores name an empty "
                        + "file")
            }
            try requireTrust(in: file, as: .file)
            return try String(contentsOfFile: file, encoding: .utf8)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            if !isRequired { return nil }
            throw ConfigurationFault(in: file, "there is no such file")
        } catch let error as CocoaError where error.code == .fileReadNoPermission {
            throw ConfigurationFault(in: file, "permission denied: this user may not read the file")
        } catch let fault as ConfigurationFault {
            throw fault
        } catch {
            throw ConfigurationFault(in: file, "the file cannot be read as UTF-8 text")
        }
    }

    private static func requireTrust(in path: String, as kind: TrustedFile.Kind) throws {
        if let objection = TrustedFile.objection(to: path, as: kind) {
            throw ConfigurationFault(in: path, objection)
        }
    }

    /// Whether it is a file with an end, or not there: reading tells which.
    private static func isRegular(_ file: String) -> Bool {
        var status = stat()
        return stat(file, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    }

    private static func storeFiles(
        in directory: String, ignoring ignored: inout [String]
    ) throws -> [String] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return []
        } catch {
            throw ConfigurationFault(in: directory, "the directory cannot be read")
        }
        // Hidden files and those of editors are not meant.
        let shown = names.filter { !$0.hasPrefix(".") && !$0.hasSuffix("~") }.sorted()
        let paths = Dictionary(grouping: shown, by: { $0.hasSuffix(".yaml") })
            .mapValues { $0.map { directory + "/" + $0 } }
        ignored = paths[false] ?? []
        return paths[true] ?? []
    }
}
