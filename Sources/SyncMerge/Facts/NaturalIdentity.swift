import Crypto

/// The identity of an object that its key identifies: equal keys are the same object on every
/// replica, without communication.
///
/// The first 16 bytes of SHA-256 over: the entity's name (ASCII letters folded to lower case), the
/// generation, the number of key columns, then each part. Numbers are 8 bytes, big endian; names,
/// text and blobs are preceded by their length in bytes. A part begins with a tag: 0 NULL, 1
/// integer, 2 real, 3 text, 4 blob, 5 reference (identity and key column of its target). Values
/// that SQLite calls equal give the same identity: a real with a whole value is an integer, text is
/// folded by the column's collation.
///
/// This encoding can never change: identities made with it are in stores.
package enum NaturalIdentity {
    /// The identity of the `generation`-th object with this key; the first is 0. A generation is
    /// skipped when its identity has become part of another object.
    package static func uid(of entity: MergeEntity, key: [Field], generation: Int) -> ObjectUID {
        var bytes = SHA256()
        update(&bytes, with: Array(Collation.lowercased(entity.name).utf8))
        update(&bytes, with: UInt64(generation))
        update(&bytes, with: UInt64(key.count))
        for (column, field) in zip(entity.key, key) {
            update(&bytes, with: field, collation: entity.columns[column].collation)
        }
        let digest = Array(bytes.finalize().prefix(16))
        func word(_ range: Range<Int>) -> UInt64 {
            digest[range].reduce(0) { $0 << 8 | UInt64($1) }
        }
        return ObjectUID(high: word(0..<8), low: word(8..<16))
    }

    private static func update(_ hash: inout SHA256, with field: Field, collation: Collation) {
        switch field {
        case .reference(let uid, let part):
            hash.update(data: [5])
            update(&hash, with: uid.high)
            update(&hash, with: uid.low)
            update(&hash, with: UInt64(part))
        case .unstated: preconditionFailure("a row has a value in each column")
        case .value(let value):
            switch collation.folded(value) {
            case .null: hash.update(data: [0])
            case .integer(let number):
                hash.update(data: [1])
                update(&hash, with: UInt64(bitPattern: number))
            case .real(let number):
                hash.update(data: [2])
                update(&hash, with: number.bitPattern)
            case .text(let text):
                hash.update(data: [3])
                update(&hash, with: Array(text.utf8))
            case .blob(let blob):
                hash.update(data: [4])
                update(&hash, with: blob)
            }
        }
    }

    private static func update(_ hash: inout SHA256, with number: UInt64) {
        hash.update(data: (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    }

    private static func update(_ hash: inout SHA256, with bytes: [UInt8]) {
        update(&hash, with: UInt64(bytes.count))
        hash.update(data: bytes)
    }
}
