import SyncValues

/// How far a remote leads, and what of it cannot be read.
package struct RemoteHead: Sendable {
    /// What a receiver that starts with nothing can merge.
    package let vector: VersionVector
    /// The files and folders that are there and cannot be read.
    package let unread: [BatchCatalog.Problem]

    /// Describes a remote.
    package init(_ vector: VersionVector, unread: [BatchCatalog.Problem] = []) {
        self.vector = vector
        self.unread = unread
    }

    /// How far the batches of a catalog lead that the members accept.
    /// - Parameter known: how far the remote has led before: what cannot be read counts as present.
    package init(
        _ catalog: BatchCatalog, for members: Membership, knowing known: VersionVector
    ) {
        unread = catalog.problems.filter { $0.unread != nil }
        vector = catalog.reach(since: unread.isEmpty ? VersionVector() : known, for: members)
    }
}

extension SyncError {
    /// The operation of an error about what could not be read at a remote.
    package static let reading = "read"

    /// Whether it says that something at a remote could not be read, not that a key is missing.
    package var isDenial: Bool { operation == Self.reading }
}

extension [BatchCatalog.Problem] {
    /// Why an exchange was not complete: something is there that could not be read.
    package var denial: SyncError? {
        let unread = filter { $0.unread != nil }
        guard let first = unread.first, let code = first.unread else { return nil }
        let more = unread.count > 1 ? " (and \(unread.count - 1) more)" : ""
        return SyncError(
            code,
            "not complete, because a file or folder of the remote could not be read: "
                + "\(first.name)\(more): \(first.reason)",
            operation: SyncError.reading,
            hint: first.remedy.map { "\($0). Then run the command again" })
    }

    /// Why what was merged may not be all: there are files that cannot be used.
    package var loss: SyncError? {
        let unusable = filter { $0.unusable != nil }
        guard let first = unusable.first, let code = first.unusable else { return nil }
        let what =
            unusable.count == 1
            ? "a file of the remote cannot be used, and what it holds"
            : "\(unusable.count) files of the remote cannot be used, and what they hold"
        let remedy =
            first.remedy
            ?? "The replica that wrote it replaces it when it synchronises. If that one is gone, "
            + "remove the file: the others send again what they have of it"
        return SyncError(
            code, "not complete: \(what) may be missing here: \(first.name): \(first.reason)",
            operation: SyncError.reading, hint: remedy + ". Then run the command again")
    }
}
