import Foundation

// Any bytes in a file: a configuration, or a fault that names the file; never a crash.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzConfiguration(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    // Foundation itself leaks when it reads an empty file.
    guard size > 0 else { return 0 }
    let file = "/dev/shm/syncd-fuzz-\(getpid()).yaml"
    try? Data(bytes: data, count: size).write(to: URL(fileURLWithPath: file))
    var configuration = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
    do {
        try ConfigurationReader.read(
            into: &configuration, file: file, isRequired: true,
            storesDirectory: "/nowhere/stores.d")
    } catch let fault as ConfigurationFault {
        precondition(fault.place == file, "a fault of another file: \(fault)")
    } catch {
        preconditionFailure("configuration throws ConfigurationFault alone: \(error)")
    }
    return 0
}
