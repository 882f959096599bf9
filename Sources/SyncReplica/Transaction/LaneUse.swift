/// Which lanes are used.
package enum LaneUse {
    /// Whether plain objects go the fast way unless a test says otherwise: not before a thousand
    /// simple schedules have gone through both lanes (docs/merge-design.md, *What it takes today*).
    package static let isFastByDefault = false
    /// Whether what was written here is stated row by row where that is possible: not before as
    /// many recordings have been stated both ways.
    package static let isLocalByDefault = false
}
