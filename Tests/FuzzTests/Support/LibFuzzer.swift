import Foundation

/// What libFuzzer calls: one input for the target that `SYNCD_FUZZ` names. In a test process nobody
/// calls it.
@_cdecl("LLVMFuzzerTestOneInput")
public func runFuzzedInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: data == nil ? 0 : size))
    do {
        try fuzzed.run(bytes)
    } catch {
        FileHandle.standardError.write(Data("finding: \(error)\n".utf8))
        abort()
    }
    return 0
}

private let fuzzed: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["SYNCD_FUZZ"]
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        let names = FuzzTarget.all.map(\.name).joined(separator: ", ")
        preconditionFailure("SYNCD_FUZZ names one of \(names)")
    }
    return target
}()
