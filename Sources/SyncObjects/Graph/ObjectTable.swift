import CObjects
import Synchronization

/// The objects of a context by identity, not retained: each is removed when its last reference is
/// released.
///
/// A dictionary of weak references would do the same and make fetches take nearly twice as long:
/// Swift keeps a side table for each object that is referenced weakly, and every later retain and
/// release goes through it. Here the object's own `deinit` removes it.
///
/// Invariants: an object in the table is still in memory, because its `deinit` removes it under the
/// lock. Between the release of its last reference and that, `syncd_try_retain` fails and the
/// object counts as absent. An identity is in the table once, so that a new object replaces one
/// that is being deallocated. An object's identity is changed only while it is not in the table.
///
/// The table is probed linearly, at most three quarters full, its size a power of two.
final class ObjectTable: Sendable {
    private let table = Mutex(Table())

    /// The object of that identity, if there is one.
    subscript(id: ManagedObjectID) -> ManagedObject? {
        table.withLock { $0.object(id) }
    }

    /// All objects, in no order.
    var objects: [ManagedObject] { table.withLock { $0.objects } }

    /// Adds an object, in place of another one with its identity.
    func insert(_ object: ManagedObject) {
        table.withLock { $0.insert(object) }
    }

    /// Removes an object, if it is in the table.
    func remove(_ object: ManagedObject) {
        table.withLock { $0.remove(object) }
    }

    func removeAll() { table.withLock { $0 = Table() } }

    /// Reserves space for this number of additional objects.
    func reserveCapacity(for more: Int) { table.withLock { $0.reserve(more) } }
}

private struct Table {
    /// The identity is stored beside the pointer. Reading it from the object would retain the
    /// object, and releasing it could run its `deinit`, which takes the lock that is held here.
    private struct Entry {
        let id: ManagedObjectID
        let object: UnsafeMutableRawPointer
    }

    private var entries: ContiguousArray<Entry?> = []
    private var count = 0

    private static let sizeMin = 16

    private static func hash(_ id: ManagedObjectID) -> UInt {
        guard case .integer(let number) = id.key else { return UInt(bitPattern: id.hashValue) }
        // Keys are consecutive: the product spreads them over all bits, the highest of which choose
        // the place.
        let mixed = UInt(bitPattern: id.origin.seed ^ Int(truncatingIfNeeded: number))
        return (mixed &+ UInt(id.incarnation)) &* 0x9E37_79B9_7F4A_7C15
    }

    private static func held(_ entry: Entry) -> ManagedObject? {
        syncd_try_retain(entry.object).map {
            Unmanaged<ManagedObject>.fromOpaque($0).takeRetainedValue()
        }
    }

    func object(_ id: ManagedObjectID) -> ManagedObject? {
        find(id).flatMap { entries[$0].flatMap(Self.held) }
    }

    var objects: [ManagedObject] { entries.compactMap { $0.flatMap(Self.held) } }

    mutating func insert(_ object: ManagedObject) {
        let entry = Entry(
            id: object.identity, object: Unmanaged.passUnretained(object).toOpaque())
        if let place = find(entry.id) { return entries[place] = entry }
        reserve(1)
        put(entry)
        count += 1
    }

    mutating func remove(_ object: ManagedObject) {
        guard count > 0 else { return }
        var place = start(object.identity)
        let object = Unmanaged.passUnretained(object).toOpaque()
        while let entry = entries[place] {
            if entry.object == object { return close(place) }
            place = next(place)
        }
    }

    mutating func reserve(_ more: Int) {
        var size = max(Self.sizeMin, entries.count)
        while (count + more) * 4 > size * 3 { size *= 2 }
        guard size > entries.count else { return }
        let former = entries
        entries = ContiguousArray(repeating: nil, count: size)
        for case let entry? in former { put(entry) }
    }

    private func start(_ id: ManagedObjectID) -> Int {
        Int(Self.hash(id) >> UInt(UInt.bitWidth - entries.count.trailingZeroBitCount))
    }

    private func next(_ place: Int) -> Int { (place + 1) & (entries.count - 1) }

    private func find(_ id: ManagedObjectID) -> Int? {
        guard count > 0 else { return nil }
        var place = start(id)
        while let entry = entries[place] {
            if entry.id == id { return place }
            place = next(place)
        }
        return nil
    }

    private mutating func put(_ entry: Entry) {
        var place = start(entry.id)
        while entries[place] != nil { place = next(place) }
        entries[place] = entry
    }

    /// Empties a place, and moves entries back that were displaced by it.
    private mutating func close(_ place: Int) {
        count -= 1
        let mask = entries.count - 1
        var hole = place
        var other = next(place)
        while let entry = entries[other] {
            let distance = (other &- start(entry.id)) & mask
            if distance >= (other &- hole) & mask {
                entries[hole] = entry
                hole = other
            }
            other = next(other)
        }
        entries[hole] = nil
    }
}
