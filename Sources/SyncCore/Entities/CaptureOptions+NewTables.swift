import Foundation
import GRDB
import SyncStorage

/// What is kept of the tables that are created later.
extension CaptureOptions {
    /// The options that were chosen for all tables; the defaults when none were.
    ///
    /// - Throws: `corrupt` when they cannot be read: with the defaults, a table would silently be
    ///   tracked without the old values that were asked for.
    static func ofNewTables(_ db: Database) throws -> CaptureOptions {
        try ofNewTables(Metadata(db))
    }

    /// - Throws: as ``ofNewTables(_:)``.
    static func ofNewTables(_ metadata: Metadata) throws -> CaptureOptions {
        guard let text = try metadata.text(.options) else { return CaptureOptions() }
        guard
            let options = try? JSONDecoder().decode(CaptureOptions.self, from: Data(text.utf8))
        else {
            throw SyncError(
                .corrupt, "the setting options in syncd_meta cannot be read: \(text)",
                hint: Metadata.startOverHint)
        }
        return options
    }

    /// Adds these options to those that were chosen before.
    func addForNewTables(_ db: Database) throws {
        var options = try Self.ofNewTables(db)
        options.undo = options.undo || undo
        if kept == .none { options.kept = .none }
        let data = try JSONEncoder().encode(options)
        try Metadata(db).set(.options, to: .text(String(decoding: data, as: UTF8.self)))
    }
}
