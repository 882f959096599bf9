import SyncClient
import SyncReplica
import Synchronization

/// The configuration that the daemon runs with: a reload changes it, but for what needs a restart.
final class RunningConfiguration: Sendable {
    private let value = Mutex<Configuration?>(nil)

    var current: Configuration? { value.withLock { $0 } }

    /// Takes over what was read.
    ///
    /// - Returns: the options that were changed and stay as they are until a restart.
    @discardableResult
    func adopt(_ configuration: Configuration) -> [String] {
        value.withLock { value in
            guard let started = value else {
                value = configuration
                return []
            }
            let present = configuration.keepingStart(of: started)
            value = present
            return ConfigurationKey.all.filter { key in
                key.value.map { $0(present) != $0(configuration) } ?? false
            }.map(\.name)
        }
    }
}

extension Configuration {
    /// With the options of another one that take effect at the start alone; where these were set,
    /// too. docs/configuration.md marks them.
    func keepingStart(of started: Configuration) -> Configuration {
        var kept = self
        kept.socket = started.socket
        kept.socketMode = started.socketMode
        kept.stateDirectory = started.stateDirectory
        kept.logLevel = started.logLevel
        kept.connectionsMax = started.connectionsMax
        kept.queuedBytesMax = started.queuedBytesMax
        kept.compareInterval = started.compareInterval
        kept.workers = started.workers
        kept.metrics = started.metrics
        for key in ConfigurationKey.all {
            guard let value = key.value, value(kept) != value(self) else { continue }
            kept.sources[key.name] = started.sources[key.name]
        }
        return kept
    }
}

extension Configuration {
    /// Every option with its value and where it was set, then the stores with theirs.
    var settings: [Setting] {
        let options = ConfigurationKey.all.compactMap { key in
            key.value.map { Setting(name: key.name, value: $0(self), source: sources[key.name]) }
        }
        return options + stores.flatMap(\.settings)
    }
}

extension Configuration.StoreEntry {
    /// What differs from a plain path.
    fileprivate var settings: [Setting] {
        let name = "stores[\(path)]"
        var settings = [Setting(name: name, value: path, source: place)]
        func add(_ key: String, _ value: String?) {
            guard let value else { return }
            settings.append(Setting(name: "\(name).\(key)", value: value, source: place))
        }
        add("track", track ? "true" : nil)
        add("entities", entities.isEmpty ? nil : entities.joined(separator: ", "))
        add("undo", undo.isEmpty ? nil : undo.joined(separator: ", "))
        add("keep", keepsValues.map { $0 ? "all" : "none" })
        add("purge.age", limits.age.map(ConfigurationKey.duration))
        add("purge.size", limits.bytes.map(ConfigurationKey.size))
        for remote in remotes { add("remotes", "\(remote.name) \(remote.shownURL)") }
        return settings
    }
}
