import Foundation

/// The property names of key paths, learned once for each and each class that it is asked of.
///
/// A key path is examined by reading it from a probe, an object that only records which properties
/// are read. The key path may be that of a computed property, whose getter reads anything. It has a
/// name when its getter reads one property, once, and
///
/// * the read comes from the accessor of a property wrapper that was given this very key path; or
/// * the getter returns the probe's value unchanged, for each sample. This recognizes inherited
///   properties, whose accessors have the key path of the superclass, and accessors written by
///   hand.
///
/// Getters are called without a lock: they may look up names themselves.
///
/// `@unchecked Sendable`: guarded by the lock. Key paths of properties capture nothing.
final class KeyPathNames: @unchecked Sendable {
    static let shared = KeyPathNames()

    private let lock = NSLock()
    private var names: [Question: String] = [:]

    private struct Question: Hashable {
        let keyPath: AnyKeyPath
        let objectClass: ObjectIdentifier
    }

    func name(of keyPath: AnyKeyPath, in objectClass: ManagedObject.Type) -> String? {
        let question = Question(keyPath: keyPath, objectClass: ObjectIdentifier(objectClass))
        if let name = lock.withLock({ names[question] }) { return name }
        guard let name = Self.learn(of: keyPath, in: objectClass) else { return nil }
        lock.withLock { names[question] = name }
        return name
    }

    private static func learn(
        of keyPath: AnyKeyPath, in objectClass: ManagedObject.Type
    ) -> String? {
        // Stored properties are optional, or arrays of objects. Getters of other types are not
        // called: they may trap on an object without values.
        guard let valueType = type(of: keyPath).valueType as? any ProbedValue.Type else {
            return nil
        }
        let probe = NameProbe()
        let object = ProbeSamples.object(of: objectClass, probe: probe)
        guard let value = (object as Any)[keyPath: keyPath],
            let nothing = value as? any ProbedValue, nothing.isNothing, probe.reads.count == 1,
            let read = probe.reads.first
        else { return nil }
        if read.wrapped == keyPath { return read.name }
        let samples = valueType.samples(probe)
        guard !samples.isEmpty else { return nil }
        for sample in samples {
            probe.begin(answering: sample)
            guard let value = (object as Any)[keyPath: keyPath], probe.reads.count == 1,
                probe.reads[0].name == read.name, ProbeSamples.isEqual(sample, to: value)
            else { return nil }
        }
        return read.name
    }
}
