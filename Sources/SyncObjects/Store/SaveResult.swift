/// What a save did, as only the context that saved needs to know it.
struct SaveResult: Sendable {
    /// What every other context merges.
    var saved = SavedChange()
    /// Rows whose values differ from those of the request, or that the request does not name.
    var corrected: [ManagedObjectID: StoredRow] = [:]
    /// Deletions that the request does not name: delete rules reached these rows.
    var unrequested: Set<ManagedObjectID> = []
    /// Permanent ids, by the temporary id that each replaces.
    var renamed: [ManagedObjectID: ManagedObjectID] = [:]
}
