import SyncValues

/// A remote of a store, as `synctool remote add` writes it into the store.
package struct RemoteEntry: Sendable, Hashable, Codable {
    /// Its name in commands: 1 to 100 bytes, without spaces and slashes.
    package let name: String
    /// Its address.
    package let url: String
    /// How it is used.
    package var options: Options

    /// How a remote is used.
    package struct Options: Sendable, Hashable, Codable {
        /// Whether batches are sealed with the store's key; nil: nobody has said so. A store that
        /// encrypts elsewhere sends in the clear only where this is false
        /// (`Store.isConfidential()`).
        package var encrypted: Bool?
        /// The path of `synctool` on the other machine, where it is not in the PATH.
        package var synctool: String?
        /// Whether only commands synchronise with it, and the daemon does not.
        package var manual: Bool?

        /// The defaults.
        package init() {}
    }

    /// Describes a remote.
    /// - Throws: `invalidArgument` for a name that would be hard to type.
    package init(name: String, url: String, options: Options = Options()) throws {
        let isPlain = name.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0)
                || "-_.".unicodeScalars.contains($0)
        }
        guard 1...100 ~= name.utf8.count, isPlain, !name.hasPrefix("-") else {
            throw SyncError(
                .invalidArgument, "'\(name)' is not a valid name for a remote",
                hint: "Use letters, digits, dots and dashes, for example: origin")
        }
        self.name = name
        self.url = url
        self.options = options
    }

    /// Whether batches are sealed with the store's key.
    package var isEncrypted: Bool { options.encrypted ?? false }

    /// The address for people: without the password of an entry that an earlier version took.
    package var shownURL: String { AddressText.withoutPassword(url) }
}
