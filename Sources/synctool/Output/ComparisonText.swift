import SyncReplica

/// What `status` and `doctor` say of a comparison with another replica.
enum ComparisonText {
    /// What was found.
    static func outcome(_ comparison: ReplicaComparison) -> String {
        var parts: [String] = []
        if comparison.isEqual { parts.append("equal") }
        if !comparison.entities.isEmpty {
            parts.append("differs in " + names(comparison.entities))
        }
        if !comparison.uncompared.isEmpty {
            parts.append(
                "not compared: \(names(comparison.uncompared)) "
                    + "(only one has it, or in other columns)")
        }
        return parts.joined(separator: "; ")
    }

    /// What was not checked; nil: all tables were compared.
    static func unchecked(
        _ comparison: ReplicaComparison, replica: String, time: String, path: String
    ) -> String? {
        guard !comparison.uncompared.isEmpty else { return nil }
        return "\(names(comparison.uncompared)), with replica \(replica), \(time): only one of "
            + "the two has the table, or in other columns; to see how the schemas differ: "
            + "synctool schema \(Shell.quoted(path))"
    }

    private static func names(_ tables: [String]) -> String {
        Printable.text(tables.joined(separator: ", "))
    }
}
