import SyncCore
import SyncStorage

extension Configuration.StoreEntry {
    /// Which tables to record, and what to keep of them.
    var captureChoice: CaptureChoice {
        CaptureChoice(entities: entities, undo: undo, keepsValues: keepsValues ?? true)
    }

    /// Whether the entry says anything about what is recorded.
    var choosesCapture: Bool { !entities.isEmpty || !undo.isEmpty || keepsValues != nil }

    /// Whether another entry asks for the same of a store.
    func recordsLike(_ other: Self) -> Bool {
        track == other.track && captureChoice == other.captureChoice
            && keepsValues == other.keepsValues
    }

    /// What is recorded otherwise than the entry says, in one sentence without a full stop.
    ///
    /// - Parameter failure: why it could not be recorded as the entry says.
    func text(of difference: CaptureDifference, failure: SyncError? = nil) -> String {
        func list(_ names: [String]) -> String {
            let more = names.count - Self.namedMax
            return names.prefix(Self.namedMax).joined(separator: ", ").printable(countMax: 200)
                + (more > 0 ? " and \(more) more" : "")
        }
        var parts: [String] = []
        func add(_ names: [String], _ text: (String) -> String) {
            if !names.isEmpty { parts.append(text(list(names))) }
        }
        add(difference.untracked) { "not tracked: \($0)" }
        add(difference.lackingOldValues) { "undo: updates of \($0) keep no old values" }
        add(difference.keepingValues) { "keep: deleted rows of \($0) keep their values" }
        if difference.concernsNewTables {
            parts.append("undo or keep: not for tables that are created later")
        }
        add(difference.furtherTables) { "entities: \($0) is tracked, too" }
        add(difference.furtherOldValues) { "undo: updates of \($0) keep old values, too" }
        add(difference.lackingValues) { "keep: deleted rows of \($0) keep no values" }
        return parts.joined(separator: "; ") + (failure.map { "; \($0.reason)" } ?? "")
    }

    /// What makes it so.
    func remedy(for difference: CaptureDifference, path: String) -> String {
        let file = Shell.quoted(path)
        let options =
            entities.map { " --entity " + Shell.quoted($0) }
            + undo.map { " --undo " + Shell.quoted($0) }
            + (keepsValues == false ? [" --no-tombstones"] : [])
        let command = "synctool track \(file)" + options.joined()
        guard difference.isLasting else {
            return "To have it recorded so from now on: \(command)"
        }
        return "Change the entry to what is recorded; or, which deletes the history: "
            + "synctool untrack \(file); \(command)"
    }

    private static let namedMax = 5
}
