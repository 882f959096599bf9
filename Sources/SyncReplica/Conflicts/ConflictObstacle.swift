import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Why a value that a person chose cannot be shown, as an error with what to do instead.
struct ConflictObstacle {
    let storage: ReplicaStorage
    /// The view with the decision.
    let view: View
    let state: MergeState
    /// The conflict's number, for the commands that the error names.
    let conflict: Int64
    /// The open conflicts of the object before the decision, by cell.
    let open: [Int: Int64]

    /// The error for an object whose chosen values are not shown.
    /// - Parameter fields: the values of the row.
    /// - Throws: SQLite errors; `corrupt`.
    func error(for uid: ObjectUID, with fields: [Field]) throws -> SyncError {
        guard let record = state.objects[uid] else {
            return SyncError(.refused, "nothing is known of the object any more")
        }
        let entity = state.schema.entities[record.entity]
        let path = try self.path(of: uid)
        if let (holder, columns) = view.claimant(
            of: fields, besides: uid, entity: record.entity, schema: state.schema)
        {
            return try taken(columns, by: holder, path: path, entity: entity)
        }
        for reference in entity.references {
            guard let target = fields[reference.columns[0]].target, view.shownAs[target] == nil
            else { continue }
            return SyncError(
                .refused,
                "\(path) refers to \(try self.path(of: target)), which is not shown either",
                hint: "Resolve the conflicts of that object first: synctool conflicts DB")
        }
        return SyncError(
            .refused,
            "a constraint of this database refuses \(path) with these values (CHECK, NOT NULL, or "
                + "the type of a column)",
            hint: "Choose other values: synctool conflicts resolve DB \(conflict) "
                + "--set COLUMN=VALUE. If another replica's schema allows them, migrate this one")
    }

    private func taken(
        _ columns: [Int], by holder: ShownRow, path: String, entity: MergeEntity
    ) throws -> SyncError {
        let names = columns.map {
            storage.schema.names.title(ofColumn: entity.columns[$0].name, of: entity.name)
        }
        let listed = names.joined(separator: ", ").printable(countMax: 200)
        let other = try self.path(of: holder.name)
        let change = "change \(other) with SQL, then run: synctool sync DB"
        let hint = setting(one: columns, of: entity).map { conflict, column in
            "Give \(path) another value: synctool conflicts resolve DB \(conflict) "
                + "--set \(Shell.quoted("\(column)=VALUE")). Or \(change)"
        }
        return SyncError(
            .refused,
            "\(other) has the same value of \(listed), which is UNIQUE and which neither row can "
                + "be without: \(path) is shown as soon as one of them has another one",
            hint: hint ?? "C\(change.dropFirst())")
    }

    /// The conflict that is about one of some columns, with the name of the column; nil: none is,
    /// or all are references, which cannot be chosen by value.
    private func setting(
        one columns: [Int], of entity: MergeEntity
    ) -> (conflict: Int64, column: String)? {
        for column in columns.reversed() {
            let isReference = entity.references.contains { $0.columns.contains(column) }
            guard !isReference, let cell = entity.cellOfColumn[column], let conflict = open[cell]
            else { continue }
            return (
                conflict,
                storage.schema.names.title(
                    ofColumn: entity.columns[column].name, of: entity.name)
            )
        }
        return nil
    }

    /// The error for a delete that cannot be repeated.
    /// - Throws: SQLite errors; `corrupt`.
    func stillReferred(_ uid: ObjectUID) throws -> SyncError {
        let holders = try view.order.compactMap { view.rows[$0] }.filter { row in
            row.name != view.shownAs[uid]
                && row.fields.contains { $0.target.map { $0 == view.shownAs[uid] } ?? false }
        }.map { try path(of: $0.name) }
        let named = holders.prefix(5).joined(separator: ", ")
        let more = holders.count > 5 ? " and \(holders.count - 5) more" : ""
        return SyncError(
            .refused,
            "\(try path(of: uid)) cannot be deleted: other rows refer to it"
                + (holders.isEmpty ? "" : " (\(named)\(more))"),
            hint: "Delete these and \(try path(of: uid)) with SQL, or keep what is shown: "
                + "synctool conflicts resolve DB \(conflict) --keep shown")
    }

    /// `Album/348`; the entity and the beginning of the identity where no key is known.
    /// - Throws: SQLite errors; `corrupt`.
    func path(of uid: ObjectUID) throws -> String {
        guard let record = state.objects[uid] else { return uid.description }
        let name = state.schema.entities[record.entity].name
        let key = try ConflictReader(storage).lastKey(of: uid)
        guard let key, !key.isEmpty else { return "\(name) \(uid.description.prefix(8))" }
        return "\(name)/\(ObjectKey(key))".printable(countMax: 200)
    }
}
