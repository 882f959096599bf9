/// Which side of an edit against a delete is shown.
public enum DeletePolicy: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object is deleted; the edit is in the conflict log.
    case deleteWins
    /// The object stays; the delete is in the conflict log.
    case editWins
}
