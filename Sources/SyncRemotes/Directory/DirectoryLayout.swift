import SyncMerge

/// The names in a remote folder (docs/remotes.md).
enum DirectoryLayout {
    /// Marks the folder as a remote and names its store.
    static let marker = "syncd-remote"
    /// The suffix of every batch's name.
    static let suffix = ".synb"
    /// The prefix of a file that is being written.
    static let temporaryPrefix = ".syncd-"

    /// The file in a replica's folder with the vector that it has merged.
    static let merged = "merged"
    /// The file in a replica's folder with the sums of what it has merged.
    static let sums = "sums"
    /// The file in a replica's folder with the snapshot that it requests.
    static let asked = "asked"

    /// The file in a replica's folder with the names of batches that it found damaged, a line each.
    static let damaged = "damaged"
    /// How many names are written and read of each replica: a batch that is named is read whole.
    static let damagedMax = 16

    /// The files in a replica's folder beside its batches.
    static let notes = [merged, sums, asked, damaged]

    /// The marker's content: the format of the layout and the store.
    static func markerText(_ store: StoreID) -> String { "syncd remote 1\n\(store)\n" }

    /// The store that a marker names; nil when the text is not a marker of this layout.
    static func store(inMarker text: String) -> StoreID? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2, lines[0] == "syncd remote 1" else { return nil }
        return StoreID(String(lines[1]))
    }

    /// Whether a replica writes batches under such a name, in its folder: what other programs leave
    /// beside them (`._` files, conflicted copies) nobody has sent.
    static func isBatch(_ name: String) -> Bool {
        let file = name.split(separator: "/").last ?? ""
        return file.wholeMatch(of: /[0-9a-f]{16}-[0-9a-f]{16}\.synb/) != nil
    }

    /// The folder that only this replica writes.
    static func folder(of replica: ReplicaID) -> String { replica.description }

    /// The name of a batch: the sender's last transaction in it, then the beginning of its hash.
    /// The same batch always has the same name, and a name always has the same content.
    static func name(of envelope: BatchEnvelope) -> String {
        let number = String(envelope.upTo[envelope.sender], radix: 16)
        let padded = String(repeating: "0", count: 16 - number.count) + number
        let hash = envelope.payloadHash.prefix(8).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return padded + "-" + hash.joined() + suffix
    }
}
