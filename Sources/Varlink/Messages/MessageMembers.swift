func messageObject(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> JSONObject {
    // The framer has bounded the bytes already.
    let limits = JSONParser.Limits(bytesMax: .max)
    guard case .object(let object) = try JSONParser.parse(bytes, limits: limits) else {
        throw JSONError("a message is not an object", offset: 0)
    }
    return object
}

func memberParameters(_ value: JSONValue) throws(JSONError) -> JSONObject {
    switch value {
    case .object(let object): return object
    case .null: return [:]
    default: throw JSONError("`parameters` is not an object", offset: 0)
    }
}

func flag(_ member: JSONObject.Member) throws(JSONError) -> Bool {
    switch member.value {
    case .bool(let value): return value
    case .null: return false
    default: throw JSONError("`\(member.name)` is not true or false", offset: 0)
    }
}
