/// An error in the configuration: where, and what. The daemon ends with status 78.
struct ConfigurationFault: Error, Equatable, CustomStringConvertible {
    /// The file, flag or variable.
    let place: String
    /// The line, counted from 1, where there is one.
    let line: Int?
    /// What is wrong, and what would be right.
    let reason: String

    init(in place: String, line: Int? = nil, _ reason: String) {
        self.place = place
        self.line = line
        self.reason = reason
    }

    var description: String { place + (line.map { ":\($0)" } ?? "") + ": " + reason }
}
