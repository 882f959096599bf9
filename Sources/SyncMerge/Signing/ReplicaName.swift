import SyncValues

/// The name of a replica, for people. It identifies nothing: two replicas may have one name.
///
/// A name is data of a remote. One that a terminal could obey, that takes a line for itself, or
/// that looks like a replica's identifier is no name.
package struct ReplicaName: Sendable, Hashable {
    /// The longest name, in bytes of UTF-8.
    package static let bytesMax = 64

    /// The name.
    package let text: String

    /// A name.
    /// - Returns: nil for an empty text, one that is too long, begins or ends with a space, has
    ///   control or format characters, or is 8 or 32 hexadecimal digits.
    package init?(_ text: String) {
        let scalars = text.unicodeScalars
        guard let first = scalars.first, let last = scalars.last,
            text.utf8.count <= Self.bytesMax,
            !first.properties.isWhitespace, !last.properties.isWhitespace,
            scalars.allSatisfy(Self.isShown), !Self.isIdentifier(text)
        else { return nil }
        self.text = text
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
            .surrogate:
            return false
        default: return !scalar.properties.isBidiControl && scalar.notTextByte == nil
        }
    }

    private static func isIdentifier(_ text: String) -> Bool {
        [8, 32].contains(text.utf8.count) && text.allSatisfy { $0.isASCII && $0.isHexDigit }
    }
}

/// A name that a replica gave itself: with its signature, nobody else can name it.
package struct SignedName: Sendable, Hashable {
    /// The name.
    package let name: ReplicaName
    /// When it was given, in milliseconds since 1970: of two names the later one is in force.
    package let revision: Int64
    /// The replica's signature.
    package let signature: Signature

    /// A stored name.
    package init(_ name: ReplicaName, revision: Int64, signature: Signature) {
        self.name = name
        self.revision = revision
        self.signature = signature
    }

    /// Signs a name.
    /// - Throws: `internalFault`.
    package init(
        _ name: ReplicaName, revision: Int64, store: StoreID, replica: ReplicaID,
        with key: SigningKey
    ) throws {
        self.name = name
        self.revision = revision
        signature = try key.signature(
            of: Self.signed(name, revision: revision, store: store, replica: replica), for: .name)
    }

    /// Whether the replica with this key has signed it.
    package func isSigned(store: StoreID, replica: ReplicaID, by key: VerifyingKey) -> Bool {
        key.isValid(
            signature,
            of: Self.signed(name, revision: revision, store: store, replica: replica), for: .name)
    }

    private static func signed(
        _ name: ReplicaName, revision: Int64, store: StoreID, replica: ReplicaID
    ) -> [UInt8] {
        let number = (0..<8).map { UInt8(truncatingIfNeeded: revision >> (56 - 8 * $0)) }
        return store.bytes + replica.bytes + number + Array(name.text.utf8)
    }
}
