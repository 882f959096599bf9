/// What is computed over the objects of a to-many relationship.
enum BoundAggregate: String {
    case sum = "@sum"
    case average = "@avg"
    case minimum = "@min"
    case maximum = "@max"

    var sql: String {
        switch self {
        case .sum: return "sum"
        case .average: return "avg"
        case .minimum: return "min"
        case .maximum: return "max"
        }
    }
}
