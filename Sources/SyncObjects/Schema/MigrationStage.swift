import GRDB

/// One step of a staged migration: to a model, with what must happen to the rows before and after.
public struct MigrationStage: Sendable {
    /// The model that the store has after this step.
    public let model: ManagedObjectModel
    let before: (@Sendable (Database) throws -> Void)?
    let after: (@Sendable (Database) throws -> Void)?

    /// Makes a step.
    ///
    /// - Parameters:
    ///   - model: The model that the store has after this step.
    ///   - before: Runs on the old tables, in the transaction of the step.
    ///   - after: Runs on the new tables, in the transaction of the step.
    ///
    /// A step with either of them may change what cannot be inferred: values are cast, and the rest
    /// is for these closures to put right.
    public init(
        to model: ManagedObjectModel, before: (@Sendable (Database) throws -> Void)? = nil,
        after: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.model = model
        self.before = before
        self.after = after
    }
}
