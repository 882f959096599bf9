import Observation

/// The last valid value of an object, for a view. It follows the object while it exists, and is
/// kept when the object is gone.
@MainActor
@Observable
public final class RetainedValue<Value: BaseValueProtocol> {
    /// The last value that the object had.
    public private(set) var value: Value
    /// The object is gone: `value` is what it was.
    public private(set) var isGone = false
    /// Why the last refresh could not read the object; `value` is the one before.
    public private(set) var readError: ObjectError?
    @ObservationIgnored private let object: AnyConvertibleValueObservableObject<Value>

    /// Nil when the object is gone already: then there is nothing to show.
    public init?(_ object: AnyConvertibleValueObservableObject<Value>) {
        guard let value = object.wrappedValue else { return nil }
        self.object = object
        self.value = value
    }

    /// Reads the object now.
    public func refresh() {
        guard let value = object.wrappedValue else {
            // An object that could not be read is not gone: what was shown stays.
            readError = (object.object as? ManagedObject)?.readError
            isGone = readError == nil
            return
        }
        readError = nil
        isGone = false
        if value != self.value { self.value = value }
    }

    /// Follows the object until the task is cancelled or the object ends.
    public func follow() async {
        let changes = object.changes
        refresh()
        for await _ in changes { refresh() }
    }
}
