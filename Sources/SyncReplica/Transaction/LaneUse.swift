/// Which lane merges use.
package enum LaneUse {
    /// Whether plain objects go the fast way unless a test says otherwise: not before a thousand
    /// simple schedules have gone through both lanes (docs/merge-design.md, *What it takes today*).
    package static let isFastByDefault = false
}
