/// A receiver of changes of the store.
protocol ChangeListener: AnyObject, Sendable {
    /// Called on any thread, in the order of the commits. Queues the change and returns at once.
    func receive(_ change: StoreChange)
    /// Called on the listener that saved, in the same order.
    func didSave(_ change: SavedChange)
}
