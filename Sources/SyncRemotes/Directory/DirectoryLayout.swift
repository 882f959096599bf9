import SyncMerge

/// The names in a remote folder (docs/remotes.md).
enum DirectoryLayout {
    /// Says that the folder is a remote, and of which store.
    static let marker = "syncd-remote"
    /// Ends the name of every batch.
    static let suffix = ".synb"
    /// Begins the name of a file that is being written.
    static let temporaryPrefix = ".syncd-"

    /// Says what a replica has merged, in its folder.
    static let merged = "merged"
    /// Says what a replica asks for, in its folder.
    static let asked = "asked"

    /// The marker's content: the format of the layout and the store.
    static func markerText(_ store: StoreID) -> String { "syncd remote 1\n\(store)\n" }

    /// The store that a marker names; nil when it is not a marker of this layout.
    static func store(inMarker text: String) -> StoreID? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2, lines[0] == "syncd remote 1" else { return nil }
        return StoreID(String(lines[1]))
    }

    /// The folder that a replica alone writes.
    static func folder(of replica: ReplicaID) -> String { replica.description }

    /// The name of a batch: how far it leads its own sender, then the beginning of its hash. The
    /// same batch always has the same name, and no name ever gets other content.
    static func name(of envelope: BatchEnvelope) -> String {
        let number = String(envelope.upTo[envelope.sender], radix: 16)
        let padded = String(repeating: "0", count: 16 - number.count) + number
        let hash = envelope.payloadHash.prefix(8).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return padded + "-" + hash.joined() + suffix
    }
}
