/// What SQLite turns values into before it stores them in a column.
package enum Affinity: String, Sendable, Hashable, Codable {
    case text, numeric, integer, real
    /// No conversion: columns declared BLOB, ANY of a STRICT table, or without a type.
    case blob

    /// The affinity of a declared type, by the rules of <https://sqlite.org/datatype3.html#3.1>.
    package init(declaredType: String, strict: Bool) {
        let type = declaredType.uppercased()
        if strict && type == "ANY" {
            self = .blob
        } else if type.contains("INT") {
            self = .integer
        } else if type.contains("CHAR") || type.contains("CLOB") || type.contains("TEXT") {
            self = .text
        } else if type.contains("BLOB") || type.isEmpty {
            self = .blob
        } else if type.contains("REAL") || type.contains("FLOA") || type.contains("DOUB") {
            self = .real
        } else {
            self = .numeric
        }
    }
}
