/// Which lanes are used.
package enum LaneUse {
    /// Whether plain objects go the fast way unless a test says otherwise.
    package static let isFastByDefault = true
    /// Whether what was written here is stated row by row where that is possible.
    package static let isLocalByDefault = true
}
