import SyncMerge
import SyncStorage

extension SchemaContent {
    /// This schema with the columns that another one has besides, in tables whose texts both have
    /// changed; and without those that the other one has dropped, of which it knows then that they
    /// were.
    ///
    /// Only columns that SQLite adds to a table with rows are taken over: what else differs in the
    /// two texts is as it is here. So of two texts that add a column each both columns are kept.
    /// A table that one of them calls otherwise, or whose identities are not known, stays as it is.
    /// - Parameter isChanged: whether a table was changed here, since a schema that both knew.
    /// - Complexity: O(bytes of the schemas)
    func joined(
        with other: SchemaContent, where isChanged: (SchemaObject) -> Bool
    ) -> SchemaContent {
        guard names != nil, other.names != nil else { return self }
        var joined = self
        for place in objects.indices where objects[place].kind == .table {
            let object = objects[place]
            guard object.isTracked, isChanged(object),
                let theirs = other.objects.first(where: {
                    $0.kind == .table && $0.isTracked && SQLName.isEqual($0.name, to: object.name)
                })
            else { continue }
            var (own, foreign) = (names(of: object), other.names(of: theirs))
            guard SQLName.isEqual(own.entity, to: foreign.entity),
                var text = TableText(object.sql), let others = TableText(theirs.sql)
            else { continue }
            let former = own
            let present = Set(text.columns.map { SQLName.folded(own.identity(of: $0)) })
            for column in text.columns where foreign.hasDropped(own.identity(of: column)) {
                let identity = own.identity(of: column)
                guard text.remove(column) else { continue }
                own.columns[identity] = .some(nil)
            }
            for column in others.columns {
                let identity = foreign.identity(of: column)
                guard !present.contains(SQLName.folded(identity)), !own.hasDropped(identity),
                    text.add(column, of: others)
                else { continue }
                if !SQLName.isEqual(identity, to: column) { own.columns[identity] = column }
            }
            for case (let identity, nil) in foreign.columns
            where !present.contains(SQLName.folded(identity)) && !own.knows(identity) {
                own.columns[identity] = .some(nil)
            }
            guard text.sql != object.sql || own != former else { continue }
            joined.objects[place].sql = text.sql
            joined.names?.removeAll { $0.entity == own.entity }
            joined.names?.append(own)
        }
        return joined
    }

    /// This schema, put together of others, with what these know of dropped columns: the names of a
    /// table are those of one of them, which may never have had a column that another one dropped.
    /// - Complexity: O(bytes of the schemas)
    func knowingDrops(of others: [SchemaContent]) -> SchemaContent {
        guard names != nil else { return self }
        var knowing = self
        for object in objects where object.kind == .table && object.isTracked {
            var own = names(of: object)
            let dropped = others.flatMap { $0.columns(droppedFrom: own.entity) }
                .filter { !own.knows($0) }
            guard !dropped.isEmpty, let text = TableText(object.sql) else { continue }
            let present = Set(text.columns.map { SQLName.folded(own.identity(of: $0)) })
            for column in dropped where !present.contains(SQLName.folded(column)) {
                own.columns[column] = .some(nil)
            }
            knowing.names?.removeAll { SQLName.isEqual($0.entity, to: own.entity) }
            knowing.names?.append(own)
        }
        return knowing
    }

    private func columns(droppedFrom entity: String) -> [String] {
        let named = names?.first { SQLName.isEqual($0.entity, to: entity) }
        return (named?.columns ?? [:]).filter { $0.value == nil }.keys.sorted()
    }

    /// What facts call a table and its columns, where that is not their name.
    func names(of table: SchemaObject) -> EntityNames {
        let named = names?.first { item in
            item.name.map { SQLName.isEqual($0, to: table.name) } ?? false
        }
        return named ?? EntityNames(entity: table.name, name: table.name)
    }
}

extension EntityNames {
    /// What facts call a column.
    func identity(of column: String) -> String {
        let named = columns.first { item in
            item.value.map { SQLName.isEqual($0, to: column) } ?? false
        }
        return named?.key ?? column
    }

    /// What a column is called; nil: it was dropped.
    func name(of identity: String) -> String? {
        let named = columns.first { SQLName.isEqual($0.key, to: identity) }
        return named.map(\.value) ?? identity
    }

    /// Whether this says what a column is called, or that it was dropped.
    func knows(_ identity: String) -> Bool {
        columns.keys.contains { SQLName.isEqual($0, to: identity) }
    }

    /// Whether a column was dropped.
    func hasDropped(_ identity: String) -> Bool { name(of: identity) == nil }
}
