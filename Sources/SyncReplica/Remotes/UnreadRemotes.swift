import Foundation
import SyncStorage
import SyncValues

/// The setting `unread`: what of a remote could not be read in the last exchange, by its address.
enum UnreadRemotes {
    /// - Parameter problem: a sentence; nil: all could be read.
    /// - Throws: SQLite errors.
    static func note(_ problem: String?, at url: String, on connection: OpaquePointer) throws {
        let settings = Metadata(connection)
        var all = try Self.all(settings)
        guard all[url] != problem else { return }
        all[url] = problem
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let json = String(decoding: try encoder.encode(all), as: UTF8.self)
        try settings.set(.unread, to: all.isEmpty ? .null : .text(json))
    }

    /// The remotes of which something could not be read, as sentences.
    /// - Throws: SQLite errors.
    static func findings(_ connection: OpaquePointer) throws -> [String] {
        try all(Metadata(connection)).sorted { $0.key < $1.key }.map { url, problem in
            "\(AddressText.withoutPassword(url).printable(countMax: 200)): the last exchange was "
                + problem
        }
    }

    private static func all(_ settings: Metadata) throws -> [String: String] {
        guard case .text(let json) = try settings.value(.unread) else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: Data(json.utf8))) ?? [:]
    }
}
