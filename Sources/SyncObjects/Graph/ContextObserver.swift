/// An observer of a context inside this module: called with the context's gate held, after each
/// change.
protocol ContextObserver: AnyObject, Sendable {
    func contextDidChange(_ context: ManagedObjectContext, touched: TouchedObjects)
    func contextDidReset(_ context: ManagedObjectContext)
}
