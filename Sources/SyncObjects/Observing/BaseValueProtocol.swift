/// A value that represents an object: a copy that can be sent to any thread.
public protocol BaseValueProtocol: Equatable, Identifiable, Sendable where ID == WrappedID {}
