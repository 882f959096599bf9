/// The objects of a context with something to save, held, in the order in which they became so.
/// Confined to the context's gate.
///
/// Invariant: an object that is in it has its place, counted from 1, as `pendingNumber`; another
/// one has 0 there.
struct PendingObjects {
    private var places: ContiguousArray<ManagedObject?> = []
    private var count = 0

    /// Places without an object that are kept: removing one does not move the others each time.
    private static let gapsMin = 64

    var isEmpty: Bool { count == 0 }

    /// The objects, in order.
    var objects: [ManagedObject] { places.compactMap { $0 } }

    func contains(where condition: (ManagedObject) -> Bool) -> Bool {
        places.contains { $0.map(condition) ?? false }
    }

    /// Adds an object at the end. One that is in it stays where it is.
    mutating func add(_ object: ManagedObject) {
        guard object.pendingNumber == 0 else { return }
        places.append(object)
        object.pendingNumber = places.count
        count += 1
    }

    mutating func remove(_ object: ManagedObject) {
        guard object.pendingNumber != 0 else { return }
        places[object.pendingNumber - 1] = nil
        object.pendingNumber = 0
        count -= 1
        guard places.count > count * 2 + Self.gapsMin else { return }
        places = ContiguousArray(objects)
        for (index, object) in places.enumerated() { object?.pendingNumber = index + 1 }
    }

    mutating func removeAll() {
        for object in places { object?.pendingNumber = 0 }
        self = PendingObjects()
    }
}
