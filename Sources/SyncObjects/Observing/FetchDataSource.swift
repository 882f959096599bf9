/// Objects without their types, equal when their identities are the same in the same order.
public struct EquatableObjects<Value: BaseValueProtocol>: Sendable, Equatable {
    /// The objects.
    public let objects: [AnyConvertibleValueObservableObject<Value>]

    /// Wraps objects.
    public init(_ objects: [AnyConvertibleValueObservableObject<Value>]) { self.objects = objects }
}

/// Where a list gets its objects from.
public enum FetchDataSource<Value: BaseValueProtocol>: Sendable, Equatable {
    /// From a store, by a request.
    case fetchRequest
    /// These mock objects.
    case mockObjects(EquatableObjects<Value>)
}

/// The data sources of an application's lists: one property of type ``FetchDataSource`` for each.
public protocol ObjectsDataSource: Sendable, Equatable {}
