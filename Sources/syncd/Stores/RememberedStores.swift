import Foundation
import SyncCore
import Synchronization

/// The stores that the daemon was asked to track at run time: a list of paths in its state
/// directory.
///
/// Invariant: the file is whole at any moment (written beside, synced, renamed), and is written
/// before the caller learns that a store is remembered.
final class RememberedStores: Sendable {
    private struct Content: Codable {
        var version = 1
        var stores: [String] = []
    }

    /// Nil: nothing is written.
    private let file: String?
    private let paths: Mutex<[String]>

    /// Reads the list; a missing file is an empty list.
    ///
    /// - Throws: ``ConfigurationFault`` when the directory cannot be created or the file cannot be
    ///   read: going on would silently forget stores; and when others may write them.
    init(directory: String) throws {
        let file = directory + "/stores.json"
        self.file = file
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o750])
        } catch {
            throw ConfigurationFault(
                in: directory, "the state directory cannot be created (set `state:` or --state)")
        }
        guard access(directory, W_OK) == 0 else {
            throw ConfigurationFault(
                in: directory, "the state directory is not writable (set `state:` or --state)")
        }
        try Self.requireTrust(in: directory)
        paths = Mutex(try Self.read(file))
    }

    /// - Throws: ``ConfigurationFault`` when others may write the state.
    static func requireTrust(in directory: String) throws {
        for (path, kind) in [
            (directory, TrustedFile.Kind.folder), (directory + "/stores.json", .file),
        ] {
            if let objection = TrustedFile.objection(to: path, as: kind) {
                throw ConfigurationFault(in: path, objection)
            }
        }
    }

    /// The list of a worker, which stays empty: the daemon remembers its stores.
    init() {
        file = nil
        paths = Mutex([])
    }

    /// In the order in which they were tracked.
    var all: [String] { paths.withLock { $0 } }

    /// - Throws: ``SyncError``; nothing is remembered then.
    func add(_ path: String) throws {
        try change { if !$0.contains(where: path.hasBytes) { $0.append(path) } }
    }

    /// - Throws: ``SyncError``; nothing is forgotten then.
    func remove(_ path: String) throws {
        try change { $0.removeAll(where: path.hasBytes) }
    }

    private func change(_ body: (inout [String]) -> Void) throws {
        guard let file else { return }
        try paths.withLock { paths in
            var new = paths
            body(&new)
            guard new.count != paths.count else { return }
            try Self.write(new, to: file)
            paths = new
        }
    }

    private static func read(_ file: String) throws -> [String] {
        guard let data = FileManager.default.contents(atPath: file) else {
            if access(file, F_OK) != 0 { return [] }
            throw ConfigurationFault(
                in: file, "permission denied: this user may not read the list of stores")
        }
        guard let content = try? JSONDecoder().decode(Content.self, from: data) else {
            throw ConfigurationFault(
                in: file,
                "the list of stores is damaged; repair it, or delete it and track the stores again")
        }
        return content.stores
    }

    private static func write(_ paths: [String], to file: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes]
        do {
            let data = try encoder.encode(Content(stores: paths))
            try StateFile.replace(file, with: data)
        } catch {
            throw SyncError(
                .refused, "the list of stores cannot be written: \(error.localizedDescription)",
                path: file, hint: "Check the free space and the permissions of the state directory")
        }
    }
}
