/// Drops dead objects behind the stable cut, in two phases.
///
/// An object is dropped when it is dead, in no alias and named by no kept fact, *and was so
/// already* at a vector that every replica has merged since. In one phase it would diverge: a
/// replica that has not merged the deletion of the last reference still shows the object and may
/// edit it, and that revival would arrive where the record has been dropped.
///
/// Invariant: a mark is the vector at which its object was first seen to be droppable, and it has
/// been so ever since.
package struct Collector: Sendable {
    private var marks: [ObjectUID: VersionVector] = [:]

    /// Nothing is marked.
    package init() {}

    /// What every live replica has merged.
    /// - Parameter acknowledged: for each *other* live replica, a vector that it has merged. Only
    ///   acknowledgements up to which we hold that replica's own transactions may be used.
    package static func stableCut(
        own: VersionVector, acknowledged: some Sequence<VersionVector>
    ) -> VersionVector {
        acknowledged.reduce(own) { $0.meet($1) }
    }

    /// Marks what may be dropped, and drops what was marked at a vector that is stable now.
    /// - Returns: how many objects were dropped.
    /// - Complexity: linear in the objects of the state.
    package mutating func collect(_ state: inout MergeState, stable: VersionVector) -> Int {
        let needed = Self.needed(state)
        marks = marks.filter { !needed.contains($0.key) }
        var dropped = 0
        for uid in state.objects.keys.filter({ !needed.contains($0) }) {
            let mark = marks[uid] ?? state.vector
            marks[uid] = mark
            guard stable.covers(mark) else { continue }
            state.objects[uid] = nil
            marks[uid] = nil
            dropped += 1
        }
        return dropped
    }

    /// The living, the aliased, those that arrived in part, and all that these refer to.
    private static func needed(_ state: MergeState) -> Set<ObjectUID> {
        let aliased = state.aliased
        var work = state.objects.filter { uid, record in
            aliased.contains(uid) || record.life.isEmpty || state.isAlive(record)
        }.map(\.key)
        var needed: Set<ObjectUID> = []
        while let uid = work.popLast() {
            guard let record = state.objects[uid], needed.insert(uid).inserted else { continue }
            for version in record.cells.joined() {
                work += version.value.compactMap(\.target)
            }
        }
        return needed
    }
}
