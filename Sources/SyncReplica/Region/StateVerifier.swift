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
/// - Each object is in an extent that covers it.
/// - No private number is reserved that a row has, or twice.
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
            throw SyncError(
                .internalFault,
                "after \(step) the tables are not the view: "
                    + Self.difference(of: region, from: image, in: transaction.schema))
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
        if let object = try ObjectExtents.uncovered(on: storage.connection) {
            throw SyncError(
                .internalFault, "after \(step) object \(object) is newer than its extent")
        }
        if let number = try storage.objects.numberReservedInVain() {
            throw SyncError(
                .internalFault, "after \(step) number \(number) is reserved, and another's")
        }
    }

    /// The first row that is not as it is to be shown.
    private static func difference(
        of region: AffectedRegion, from image: TableImage, in schema: ReplicaSchema
    ) -> String {
        let keys = Set(region.rows.keys).union(image.rows.keys).union(region.names.keys)
            .union(image.names.keys).sorted { $0.precedes($1) }
        let wrong = keys.filter {
            region.rows[$0] != image.rows[$0] || region.names[$0] != image.names[$0]
        }
        guard let key = wrong.first else { return "a key is spelled otherwise" }
        func text(_ row: [Value]?, _ name: ObjectUID?) -> String {
            (row.map { "\($0)" } ?? "no row") + " as " + (name?.description ?? "nothing")
        }
        return "\(wrong.count) rows, first \(schema.tables[key.entity].name) \(key.values): "
            + text(region.rows[key], region.names[key]) + " where the view has "
            + text(image.rows[key], image.names[key])
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
                // Nor is it this replica where it states a number again, or a row has got it since.
                if transaction.environment.mayDangle { continue }
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
