// Any text: a token, an object's path or a moment, or an error; what was read is written and read
// back the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzToken(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: data, count: size), as: UTF8.self)
    do {
        let token = try Token(text)
        precondition((try? Token(token.description)) == token, "a token does not read the same")
    } catch {
        precondition((error as? SyncError)?.code == .invalidToken, "\(error)")
    }
    if let key = ObjectKey(text: text) {
        precondition(ObjectKey(text: key.description) == key, "a key does not read the same")
    }
    if let (entity, key) = ObjectID.parse(path: text) {
        let path = ObjectID(
            store: StoreID(high: 1, low: 2), entity: entity, key: key, incarnation: 0
        ).path
        guard let (again, keyAgain) = ObjectID.parse(path: path) else {
            preconditionFailure("a path does not read back: \(path)")
        }
        precondition(again == entity && keyAgain == key, "a path does not read the same")
    }
    if let time = Timestamp(text) {
        precondition(Timestamp(time.description) == time, "a moment does not read the same")
    }
    return 0
}
