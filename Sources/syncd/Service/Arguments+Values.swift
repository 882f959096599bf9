import SyncClient
import SyncCore
import Varlink

extension Arguments {
    /// The value that `transaction`, `change` and `property` name.
    ///
    /// - Throws: `invalidArgument` when a parameter is missing.
    func reference() throws -> ValueReference {
        ValueReference(
            transaction: integer("transaction") ?? 0, change: integer("change") ?? 0,
            property: try string("property"), kind: .blob, bytes: 0)
    }

    /// `inside`; nil when it is absent.
    func inside() throws -> PartPosition? { try object("inside").map(PartPosition.init) }
}
