import CObjects
import Synchronization

/// The objects of a context by identity, none of them held: each leaves when its last owner lets
/// it go.
///
/// A dictionary of weak references would do the same and make fetches take nearly twice as long:
/// Swift keeps a record beside each object that somebody refers to weakly, and every later retain
/// and release goes through it. Here the object's own `deinit` takes it out.
///
/// Invariants: what stands in the table is still in memory, because `deinit` takes it out under the
/// lock before it ends. From the moment when nobody owns an object until then, `syncd_try_retain`
/// fails and the object counts as not there. An identity stands in the table once, so that a new
/// object takes the place of one that is ending. An object's identity is changed only while it is
/// not in the table.
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

    /// Puts an object in, instead of what has its identity.
    func insert(_ object: ManagedObject) {
        table.withLock { $0.insert(object) }
    }

    /// Takes an object out, if it is there.
    func remove(_ object: ManagedObject) {
        table.withLock { $0.remove(object) }
    }

    func removeAll() { table.withLock { $0 = Table() } }

    /// Makes room for so many objects more.
    func reserveCapacity(for more: Int) { table.withLock { $0.reserve(more) } }
}

private struct Table {
    /// The identity stands beside the pointer: to ask the object would be to hold it for a moment,
    /// and to be its last owner perhaps, with the lock held that its `deinit` takes.
    private struct Entry {
        let id: ManagedObjectID
        let object: UnsafeMutableRawPointer
    }

    private var entries: ContiguousArray<Entry?> = []
    private var count = 0

    private static let sizeMin = 16

    private static func hash(_ id: ManagedObjectID) -> UInt {
        guard case .integer(let number) = id.key else { return UInt(bitPattern: id.hashValue) }
        // Keys count up: spread over all bits, of which the highest choose the place.
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

    /// Empties a place, and moves up what stands behind it only because it was taken.
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
