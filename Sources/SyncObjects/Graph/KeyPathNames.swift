import Foundation

/// The property names of key paths, learned once for each.
///
/// `@unchecked Sendable`: guarded by the lock. Key paths of properties capture nothing.
final class KeyPathNames: @unchecked Sendable {
    static let shared = KeyPathNames()

    private let lock = NSLock()
    private var names: [AnyKeyPath: String] = [:]
    private var probes: [ObjectIdentifier: ManagedObject] = [:]

    func name(of keyPath: AnyKeyPath, _ objectClass: ManagedObject.Type) -> String? {
        lock.withLock {
            if let name = names[keyPath] { return name }
            let object = probes[ObjectIdentifier(objectClass)] ?? objectClass.makeProbe()
            probes[ObjectIdentifier(objectClass)] = object
            object.probe?.name = nil
            _ = (object as Any)[keyPath: keyPath]
            names[keyPath] = object.probe?.name
            return object.probe?.name
        }
    }
}
