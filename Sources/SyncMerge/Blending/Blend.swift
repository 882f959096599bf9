import SyncValues

/// The joined value of the versions of one register, for a cell whose policy joins versions
/// (counter, set, text).
struct Blend {
    /// What the tables show.
    let value: Value
    /// The versions, beside the newest, that are part of it. The others are conflicts.
    let reflected: [Dot]
}
