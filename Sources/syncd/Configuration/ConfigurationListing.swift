import SyncClient
import SyncReplica
import Synchronization

/// The configuration that the daemon runs with: a reload changes it.
final class RunningConfiguration: Sendable {
    private let value = Mutex<Configuration?>(nil)

    var current: Configuration? { value.withLock { $0 } }

    func adopt(_ configuration: Configuration) { value.withLock { $0 = configuration } }
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
        add("keep", keepsValues ? nil : "none")
        add("purge.age", limits.age.map(ConfigurationKey.duration))
        add("purge.size", limits.bytes.map(ConfigurationKey.size))
        for remote in remotes { add("remotes", "\(remote.name) \(remote.shownURL)") }
        return settings
    }
}
