import ArgumentParser
import SyncCore

extension Change.Kind: ExpressibleByArgument {
    /// Reads `insert`, `update` or `delete`.
    public init?(argument: String) { self.init(name: argument) }

    /// The values for help and completion.
    public static var allValueStrings: [String] { allCases.map(\.name) }
    /// None: the names are clear.
    public static var allValueDescriptions: [String: String] { [:] }
    /// The name for help.
    public var defaultValueDescription: String { name }
}
