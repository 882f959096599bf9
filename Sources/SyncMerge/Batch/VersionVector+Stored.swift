import SyncValues

extension VersionVector {
    /// The vector as the tables of a store hold it.
    /// - Complexity: O(replicas)
    package var stored: [UInt8] {
        var writer = ByteWriter()
        writer.append(self)
        return writer.bytes
    }

    /// Reads ``stored``; NULL is the empty vector.
    /// - Throws: `badData` for bytes that are no vector.
    /// - Complexity: O(replicas)
    package init(stored bytes: [UInt8]?) throws {
        guard let bytes else {
            self.init()
            return
        }
        var reader = ByteReader(bytes)
        self = try reader.vector()
    }
}
