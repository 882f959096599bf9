import SyncCore
import Varlink

/// Reads members of a JSON object with errors that name them. Absent and null are the same.
///
/// Every throwing member throws ``SyncError`` with code `badData`; tokens also `invalidToken`.
struct JSONReader {
    private let object: JSONObject
    private let what: String

    /// - Parameter what: what the object is, for messages: `a transaction`.
    init(_ object: JSONObject, of what: String) {
        self.object = object
        self.what = what
    }

    init(_ value: JSONValue?, of what: String) throws {
        guard let object = value?.object else {
            throw SyncError(.badData, "\(what) is not a JSON object")
        }
        self.init(object, of: what)
    }

    func optional(_ name: String) -> JSONValue? {
        guard let value = object[name], !value.isNull else { return nil }
        return value
    }

    func string(_ name: String) throws -> String {
        try require(name, as: try optionalString(name))
    }

    func optionalString(_ name: String) throws -> String? {
        try optional(name).map { try require(name, as: $0.string) }
    }

    func integer(_ name: String) throws -> Int64 {
        try require(name, as: try optionalInteger(name))
    }

    func optionalInteger(_ name: String) throws -> Int64? {
        try optional(name).map { try require(name, as: $0.integer) }
    }

    func bool(_ name: String) throws -> Bool {
        try optional(name).map { try require(name, as: $0.bool) } ?? false
    }

    func strings(_ name: String) throws -> [String] {
        try array(name).map { try require(name, as: $0.string) }
    }

    /// The elements; none when the member is absent.
    func array(_ name: String) throws -> [JSONValue] {
        try optional(name).map { try require(name, as: $0.array) } ?? []
    }

    func token(_ name: String) throws -> Token { try Token(try string(name)) }

    func optionalToken(_ name: String) throws -> Token? {
        try optionalString(name).map { try Token($0) }
    }

    func timestamp(_ name: String) throws -> Timestamp {
        try require(name, as: Timestamp(try string(name)))
    }

    func require<Result>(_ name: String, as value: Result?) throws -> Result {
        guard let value else { throw bad(name) }
        return value
    }

    func bad(_ name: String) -> SyncError {
        SyncError(.badData, "'\(name)' of \(what) is missing or malformed")
    }
}
