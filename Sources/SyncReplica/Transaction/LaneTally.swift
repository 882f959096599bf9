/// Which objects of merged slices the fast lane may take, and why not the others.
package struct LaneTally: Sendable, Hashable {
    /// Slices in which an object was written.
    package var slices = 0
    /// Slices of which every object is eligible.
    package var wholeSlices = 0
    /// Objects of all slices.
    package var objects = 0
    /// Those of them that the fast lane may take.
    package var eligible = 0
    /// The others, by the first rule that refuses them.
    package var refusals: [String: Int] = [:]

    /// Recordings of local transactions that were stated row by row, and their objects.
    package var recordings = 0
    /// See ``recordings``.
    package var stated = 0
    /// The other recordings, by the first reason.
    package var statementRefusals: [String: Int] = [:]

    /// Nothing yet.
    package init() {}

    /// Adds up.
    package mutating func add(_ other: LaneTally) {
        slices += other.slices
        wholeSlices += other.wholeSlices
        objects += other.objects
        eligible += other.eligible
        refusals.merge(other.refusals, uniquingKeysWith: +)
        recordings += other.recordings
        stated += other.stated
        statementRefusals.merge(other.statementRefusals, uniquingKeysWith: +)
    }
}
