/// How the tables of a store hold a key. The three forms are part of the file format
/// (docs/store-format.md): this is the one place that writes them.
package enum StoredKey {
    /// The form of a column.
    package enum Form: Sendable {
        /// `syncd_change.key`: a key of one column as it is, several values packed. Its reader has
        /// to know the number of columns.
        case bare
        /// `syncd_object.key`: a key of one number or text as it is, anything else packed. Every
        /// BLOB is packed values.
        case selfDescribing
        /// `syncd_conflict.key`: always packed.
        case packed
    }

    /// A key in the form of a column.
    /// - Complexity: O(values)
    package static func value(of key: [Value], as form: Form) -> Value {
        guard key.count == 1 else { return packed(key) }
        switch (form, key[0]) {
        case (.bare, _), (.selfDescribing, .integer), (.selfDescribing, .text),
            (.selfDescribing, .real):
            return key[0]
        case (.selfDescribing, _), (.packed, _): return packed(key)
        }
    }

    private static func packed(_ key: [Value]) -> Value {
        var writer = ByteWriter()
        for value in key { writer.append(value) }
        return .blob(writer.bytes)
    }

    /// Reads a key in the form ``Form/selfDescribing`` or ``Form/packed``; nil for NULL.
    /// - Throws: `badData` for bytes that are not packed values.
    /// - Complexity: O(values)
    package static func key(from value: Value) throws -> [Value]? {
        switch value {
        case .null: return nil
        case .integer, .text, .real: return [value]
        case .blob(let bytes):
            var reader = ByteReader(bytes)
            var key: [Value] = []
            while !reader.isAtEnd { key.append(try reader.value()) }
            return key
        }
    }

    /// Reads a key of `count` columns in the form ``Form/bare``.
    /// - Throws: `badData` for several columns that are not packed.
    /// - Complexity: O(values)
    package static func key(from value: Value, columnCount count: Int) throws -> [Value] {
        guard count > 1 else { return [value] }
        guard case .blob(let bytes) = value else {
            throw SyncError(.badData, "a composite key in history is not packed")
        }
        var reader = ByteReader(bytes)
        return try (0..<count).map { _ in try reader.value() }
    }
}
