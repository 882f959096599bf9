// Any bytes: a value or an error, never a crash; a value is written and read back the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzJSON(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = UnsafeBufferPointer(start: data, count: size)
    guard let value = try? JSONParser.parse(bytes) else { return 0 }
    let again = try? JSONParser.parse(value.description)
    precondition(again == value, "what was written does not read the same")
    return 0
}
