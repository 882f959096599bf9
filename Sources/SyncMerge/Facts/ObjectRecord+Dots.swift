extension ObjectRecord {
    /// The transactions of all its facts.
    /// - Complexity: O(facts)
    package var dots: [Dot] { life.map(\.dot) + cells.joined().map(\.dot) }
}
