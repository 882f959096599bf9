import SyncValues

/// Takes the values of a row for SQLite: a statement with parameters, or one that reads many rows.
/// What is bound counts from 1. Bytes are copied.
package protocol ValueBinding: AnyObject {
    func bind(_ value: Int64, at index: Int32)
    func bind(_ value: Double, at index: Int32)
    func bindNull(_ index: Int32)
    /// Binds UTF-8 text, or a blob.
    func bind(_ bytes: UnsafeRawBufferPointer, isText: Bool, at index: Int32)
}

extension ValueBinding {
    package func bind(_ value: String?, at index: Int32) {
        guard var value else { return bindNull(index) }
        value.withTextBytes { bind(UnsafeRawBufferPointer($0), isText: true, at: index) }
    }

    package func bind(_ bytes: [UInt8]?, at index: Int32) {
        guard let bytes else { return bindNull(index) }
        bytes.withUnsafeBytes { bind($0, isText: false, at: index) }
    }

    /// Binds the 16 bytes of an identifier.
    package func bind(_ identifier: some Identifier, at index: Int32) {
        withUnsafeBytes(of: (identifier.high.bigEndian, identifier.low.bigEndian)) {
            bind($0, isText: false, at: index)
        }
    }

    package func bind(_ value: Value, at index: Int32) {
        switch value {
        case .null: bindNull(index)
        case .integer(let value): bind(value, at: index)
        case .real(let value): bind(value, at: index)
        case .text(let value): bind(value, at: index)
        case .blob(let bytes): bind(bytes, at: index)
        }
    }
}
