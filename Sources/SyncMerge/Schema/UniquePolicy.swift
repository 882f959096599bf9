/// What two objects that claim one UNIQUE value become.
public enum UniquePolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// One row while the clash lasts, when one of the claims was made by an insert: two people
    /// entered the same thing. After a clash of updates of older rows the later claim is shown as
    /// NULL; where that is not legal, its row is not shown.
    case merge
    /// Two rows; the later claim is shown with a suffix (`value~1a2b3c4d`), or else as NULL.
    case keepBoth
    /// Two rows; the later claim is shown as NULL. Where that is not legal the rows become one if
    /// an insert made a claim, otherwise the later row is not shown.
    case laterLoses
}
