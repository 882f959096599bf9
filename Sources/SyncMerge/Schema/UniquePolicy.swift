/// What two objects that claim one UNIQUE value become.
public enum UniquePolicy: String, Sendable, Hashable, Codable {
    /// One row while the clash lasts, when one of the claims was made by an insert: two people
    /// entered the same thing. After a clash of updates of older rows the later claim loses its
    /// value.
    case merge
    /// Two rows; the later claim is shown under another name, or else as NULL.
    case keepBoth
    /// Two rows; the later claim is shown as NULL, or else under another name.
    case laterLoses
}
