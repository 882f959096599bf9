import SyncStorage
import SyncValues

extension Store {
    /// Where a walk over the present objects is.
    public struct ObjectCursor: Sendable {
        fileprivate let entity: Int64
        fileprivate let position: EntityRows.Position
        /// Where to read history on once the walk is over.
        public let token: Token
    }

    /// Some of the objects of an entity as they are now.
    public struct ObjectPage: Sendable {
        /// An object with the values of its row.
        public struct Entry: Sendable, Hashable {
            /// Which object.
            public let object: ObjectID
            /// By property, in column order, generated columns left out.
            public let values: NamedValues
        }

        /// The objects of the page.
        public let entries: [Entry]
        /// Where to go on; nil when these were the last.
        public let next: ObjectCursor?
        /// Where to read history on once the walk is over: the end of history when it began.
        public let token: Token
    }

    /// Walks over the objects that are there now, page by page: the way back for a reader whose
    /// token has expired.
    ///
    /// The walk may last any time and holds no lock between pages. What is committed
    /// meanwhile may or may not be in later pages, and is in history after ``ObjectPage/token``:
    /// a reader that takes the pages first and then history from there on has the present state.
    /// Applying a change to what is newer already must do no harm: an insert of a known object is
    /// an update, a delete of an unknown one is nothing.
    ///
    /// - Parameters:
    ///   - entity: in any case of letters.
    ///   - cursor: of the page before; nil: from the beginning.
    ///   - limit: objects in a page; at least 1.
    /// - Throws: ``SyncError``: `unknownEntity`; `historyExpired` when the table was rebuilt since
    ///   the page before: begin again.
    /// - Complexity: O(limit · log n).
    public func objects(
        of entity: String, after cursor: ObjectCursor? = nil, limit: Int = 1_000
    ) throws -> ObjectPage {
        // Before anything is read, so that nothing falls in between; digested, so that each object
        // is known by the transaction that made it.
        if cursor == nil { _ = try digest() }
        let token = try cursor?.token ?? head()
        return try explaining("objects") {
            try reading.read { reader in
                try reader.catalog.reload()
                let folded = SQLName.folded(entity)
                guard let present = reader.catalog.present.first(where: { $0.folded == folded })
                else {
                    throw SyncError.unknownEntity(
                        entity, among: reader.catalog.present.map(\.name))
                }
                if let cursor, cursor.entity != present.id {
                    throw SyncError(
                        .historyExpired, "\(entity) was changed since the previous page",
                        hint: "Start again with the first page")
                }
                return try page(
                    of: present, with: reader, after: cursor?.position ?? .start, limit: limit,
                    token: token)
            }
        }
    }

    private func page(
        of entity: TrackedEntity, with reader: PreparedReader,
        after position: EntityRows.Position, limit: Int, token: Token
    ) throws -> ObjectPage {
        let rows = try EntityRows(
            reader.connection, of: entity,
            rowID: TableSchema.rowIDName(of: entity.name, on: reader.connection))
        let resolver = reader.resolver
        var entries: [ObjectPage.Entry] = []
        let end = try rows.forEach(after: position, count: max(1, limit)) { stored, row in
            let key = try NetChange.key(stored: stored, entity)
            let object = ObjectID(
                store: id, entity: entity.name, key: key,
                incarnation: try resolver.incarnation(of: entity, key: key, before: .max))
            let values = entity.columnNames.enumerated().map {
                NamedValues.Pair(name: $1, value: row.value(Int32($0)))
            }
            entries.append(ObjectPage.Entry(object: object, values: NamedValues(values)))
        }
        return ObjectPage(
            entries: entries,
            next: end.map { ObjectCursor(entity: entity.id, position: $0, token: token) },
            token: token)
    }
}
