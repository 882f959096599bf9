import ArgumentParser

/// A command about a store. Messages name the store by the path that the user typed.
protocol StoreCommand: AsyncParsableCommand {
    /// The path of the database as typed; nil when the command is about all stores.
    var database: String? { get }
}
