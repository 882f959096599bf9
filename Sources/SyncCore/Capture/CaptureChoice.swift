import SyncStorage

/// The user's choice of what to record of a database, before its tables are known.
public struct CaptureChoice: Sendable, Hashable {
    /// Only these tables; empty: all.
    public var entities: [String]
    /// Tables whose updates keep the old values; `*`: all.
    public var undo: [String]
    /// Deleted objects keep their values.
    public var keepsValues: Bool

    /// Everything, with the values of deleted objects.
    public init(entities: [String] = [], undo: [String] = [], keepsValues: Bool = true) {
        self.entities = entities
        self.undo = undo
        self.keepsValues = keepsValues
    }

    /// Which tables to record.
    public var filter: EntityFilter { entities.isEmpty ? .all : .only(entities) }

    /// What to keep, by table of the file.
    ///
    /// - Throws: as ``Tracker/init(path:)``.
    public func options(_ path: String) throws -> [String: CaptureOptions] {
        try options(path) { _ in }
    }

    /// What to keep, by table, after `verify` was given the opened file.
    /// - Throws: as ``options(_:)``; what `verify` throws.
    package func options(
        _ path: String, verifying verify: (FileIdentity) throws -> Void
    ) throws -> [String: CaptureOptions] {
        guard !keepsValues || undo.contains("*") else {
            return Dictionary(undo.map { ($0, CaptureOptions(undo: true)) }) { first, _ in first }
        }
        let tracker = try Tracker(path: path)
        try tracker.verifyFile(verify)
        let names = try tracker.recordableTables()
        let kept: CaptureOptions.Kept = keepsValues ? .all : .none
        let chosen = names.map { name in
            let keepsOld = undo.contains { $0 == "*" || SQLName.isEqual($0, to: name) }
            return (name, CaptureOptions(kept: kept, undo: keepsOld))
        }
        var options = Dictionary(chosen) { first, _ in first }
        if entities.isEmpty {
            options[CaptureOptions.newTables] = CaptureOptions(
                kept: kept, undo: undo.contains("*"))
        }
        return options
    }
}
