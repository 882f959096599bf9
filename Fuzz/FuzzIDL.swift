// Any text: an interface or an error, never a crash; an interface is printed and read back the
// same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIDL(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: data, count: size), as: UTF8.self)
    guard let interface = try? Interface(parsing: text) else { return 0 }
    let again = try? Interface(parsing: interface.description)
    precondition(again == interface, "what was printed does not read the same")
    return 0
}
