import SyncMerge
import SyncValues

/// Checks the invariants of a replica against its whole state: for simulations
/// (``MergeEnvironment/isVerifying``).
///
/// - The tables are the image of the view of the stored state.
/// - What refers to a row is stored as a reference to it.
/// - Each object's ``StoredObject/State`` is the one that the view gives it.
/// - The conflict log has exactly the conflicts of the view.
/// - The totals that are kept are those of the stored facts.
struct StateVerifier {
    private let transaction: MergeTransaction

    init(_ transaction: MergeTransaction) { self.transaction = transaction }

    /// Does nothing unless the environment asks for it.
    /// - Parameter step: what was done, for the error.
    /// - Throws: `internalFault` naming the first invariant that does not hold.
    /// - Complexity: O(rows and facts of the store)
    func verify(after step: String) throws {
        guard transaction.environment.isVerifying else { return }
        let storage = transaction.storage
        let region = try RegionLoader.whole(in: storage)
        let view = View(region.state)
        let image = try storage.image(of: view, in: region)
        try image.requireAllSpelled()
        guard image.rows == region.rows, image.names == region.names else {
            throw SyncError(.internalFault, "after \(step) the tables are not the view")
        }
        try verifyReferences(in: image, of: view, after: step)
        for (uid, object) in region.objects {
            let state = StoredObject.State(
                of: uid, record: object.record, in: region.state, view: view)
            guard state == object.state else {
                throw SyncError(
                    .internalFault, "after \(step) \(uid) is \(state), not \(object.state)")
            }
        }
        guard try storage.conflicts.open() == Set(view.conflicts.keys) else {
            throw SyncError(.internalFault, "after \(step) the conflict log is wrong")
        }
        let wrong = try storage.totals.wrong(objects: storage.objects)
        guard wrong.isEmpty else {
            throw SyncError(.internalFault, "after \(step) the totals of \(wrong) are wrong")
        }
    }

    private func verifyReferences(
        in image: TableImage, of view: View, after step: String
    ) throws {
        for (key, row) in image.rows {
            guard let name = image.names[key], let shown = view.rows[name] else { continue }
            let entity = transaction.schema.merge.entities[key.entity]
            for reference in entity.references {
                let target = transaction.schema.merge.key(
                    reference.target, reference.columns.map { row[$0] })
                guard let place = image.rows.index(forKey: target),
                    !reference.isExact || image.rows[place].key.values == target.values
                else {
                    try requireValues(reference.columns, of: row, shown, after: step)
                    continue
                }
                // A value in place of a reference is what its writer had, who is the one to know.
                let source = entity.cellOfColumn[reference.columns[0]].flatMap { shown.sources[$0] }
                if let source, source.dot.replica != transaction.identity.replica { continue }
                guard shown.fields[reference.columns[0]].target != nil else {
                    throw SyncError(
                        .internalFault,
                        "after \(step) \(name) holds a number where it refers to a row")
                }
            }
        }
    }

    /// What names no row is NULL, or a value that a writer without foreign keys stated.
    private func requireValues(
        _ columns: [Int], of row: [Value], _ shown: ShownRow, after step: String
    ) throws {
        if columns.contains(where: { row[$0] == .null }) { return }
        guard columns.allSatisfy({ shown.fields[$0].target == nil }) else {
            throw SyncError(
                .internalFault, "after \(step) \(shown.name) refers to a row that is not there")
        }
    }
}
