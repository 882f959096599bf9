/// How the two sides of a comparison are compared.
enum BoundKind: Equatable {
    case number
    /// Text by its bytes.
    case text
    /// Ordered as numbers, equal as text.
    case decimal
    case blob
    case reference
    case any
}
