import SyncCore
import Varlink

extension PartPosition {
    /// `type Inside` of the interface.
    public var jsonObject: JSONObject {
        [
            "transaction": .integer(transaction), "change": .integer(change),
            "index": .integer(Int64(index)),
        ]
    }

    /// Reads `type Inside`.
    ///
    /// - Throws: ``SyncError`` with code `badData`.
    public init(_ object: JSONObject) throws {
        let reader = JSONReader(object, of: "a position inside of a transaction")
        self.init(
            transaction: try reader.integer("transaction"), change: try reader.integer("change"),
            index: Int(clamping: max(0, try reader.integer("index"))))
    }
}

extension ValueReference {
    /// The reply of `GetValue`.
    ///
    /// - Parameter slice: some bytes of the value.
    public func answer(with slice: [UInt8]) -> JSONObject {
        [
            "data": .string(Base64.encode(slice)), "size": .integer(Int64(bytes)),
            "kind": .string(kind.rawValue),
        ]
    }
}
