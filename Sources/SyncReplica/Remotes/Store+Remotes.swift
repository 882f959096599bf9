import Foundation
import SyncCore
import SyncStorage
import SyncValues

/// The remotes of a store: `syncd_remote`, made with the first of them (docs/store-format.md).
extension Store {
    /// The remotes, in the order of their names.
    /// - Throws: ``SyncError``: SQLite errors; `DecodingError` for options that cannot be read.
    package func remotes() throws -> [RemoteEntry] {
        try explaining("remote") { try reading.read { try RemoteTable.all($0.connection) } }
    }

    /// The remote of a name.
    /// - Throws: ``SyncError``: `refused` when there is no such remote; SQLite errors.
    package func remote(_ name: String) throws -> RemoteEntry {
        let all = try remotes()
        guard let found = all.first(where: { $0.name == name }) else {
            let shown = name.printable(countMax: 200)
            throw SyncError(
                .refused, "there is no remote '\(shown)'", operation: "remote", path: path,
                hint: all.isEmpty
                    ? "Add one: synctool remote add DB \(Shell.quoted(shown)) "
                        + "dir:/path/of/a/folder"
                    : SimilarName.hint(name, among: all.map(\.name), title: "Its remotes are"))
        }
        return found
    }

    /// Whether the store encrypts what it sends somewhere: it has a key, or an encrypted remote.
    /// What is sent to another remote in the clear then has to be asked for.
    /// - Throws: as ``remotes()`` and ``keyRing()``.
    package func isConfidential() throws -> Bool {
        try remotes().contains(where: \.isEncrypted) || !keyRing().keys.isEmpty
    }

    /// Adds a remote.
    /// - Throws: ``SyncError``: `refused` when there is one of the name; SQLite errors.
    package func add(remote: RemoteEntry) throws {
        try explaining("remote") {
            try live.withState { connection, _ in
                try RawTransaction.write(on: connection) {
                    try RemoteTable.insert(remote, on: connection)
                    try Metadata(connection).set(.remade, to: .null)
                }
            }
        }
    }

    /// Removes a remote from the store; the data there is not changed.
    /// - Throws: ``SyncError``: `refused` when there is none of the name; SQLite errors.
    package func remove(remote name: String) throws {
        let url = try remote(name).url
        try explaining("remote") {
            try live.withState { connection, _ in
                try RawTransaction.write(on: connection) {
                    try Statement("DELETE FROM syncd_remote WHERE name = ?1", on: connection)
                        .run(.text(name))
                    try UnreadRemotes.note(nil, at: url, on: connection)
                    try LastExchange.forget(url, on: connection)
                }
            }
        }
    }
}

/// The rows of `syncd_remote`.
private enum RemoteTable {
    static func all(_ connection: OpaquePointer) throws -> [RemoteEntry] {
        guard try SchemaReader.hasTable("syncd_remote", on: connection) else { return [] }
        let select = try Statement(
            "SELECT name, url, options FROM syncd_remote ORDER BY name", on: connection)
        var result: [RemoteEntry] = []
        while try select.step() {
            let json = Data((select.text(2) ?? "{}").utf8)
            result.append(
                try RemoteEntry(
                    name: select.text(0) ?? "", url: select.text(1) ?? "",
                    options: try JSONDecoder().decode(RemoteEntry.Options.self, from: json)))
        }
        return result
    }

    static func insert(_ remote: RemoteEntry, on connection: OpaquePointer) throws {
        try RawTransaction.execute(StoreBlueprint.remote, on: connection)
        guard try !all(connection).contains(where: { $0.name == remote.name }) else {
            throw SyncError(
                .refused, "there is a remote '\(remote.name)' already",
                hint: "Take another name, or run first: synctool remote remove DB \(remote.name)")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = String(decoding: try encoder.encode(remote.options), as: UTF8.self)
        try Statement("INSERT INTO syncd_remote VALUES (?1, ?2, ?3)", on: connection)
            .run(.text(remote.name), .text(remote.url), .text(json))
    }
}
