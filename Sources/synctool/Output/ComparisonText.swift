import SyncReplica

/// What `status` and `doctor` say of a comparison with another replica.
enum ComparisonText {
    /// What was found.
    static func outcome(_ comparison: ReplicaComparison) -> String {
        var parts: [String] = []
        if comparison.isEqual { parts.append("equal") }
        if !comparison.entities.isEmpty {
            parts.append("differs in " + Printable.text(comparison.entities.joined(separator: ", ")))
        }
        if !comparison.uncompared.isEmpty {
            parts.append(
                "not compared: \(tables(of: comparison)) (only one has it, or in other columns)")
        }
        return parts.joined(separator: "; ")
    }

    /// What was not checked; nil: all tables were compared.
    static func unchecked(
        _ comparison: ReplicaComparison, replica: String, time: String, path: String
    ) -> String? {
        guard !comparison.uncompared.isEmpty else { return nil }
        return "\(tables(of: comparison)), with replica \(replica), \(time): only one of the two "
            + "has the table, or in other columns; to see how the schemas differ: synctool schema "
            + Shell.quoted(path)
    }

    private static func tables(of comparison: ReplicaComparison) -> String {
        Printable.text(comparison.uncompared.joined(separator: ", "))
    }
}
