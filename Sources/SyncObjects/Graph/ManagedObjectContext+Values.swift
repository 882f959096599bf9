import SyncCore

// Queries without objects: values, groups, sections. Unsaved changes are not included.

extension ManagedObjectContext {
    /// The stored values of what a request asks for, one dictionary for each object: of these
    /// properties, or of all attributes. A to-one relationship gives an id; what is NULL is absent.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` for a to-many relationship.
    public func fetchValues<Object: ManagedObject>(
        _ request: FetchRequest<Object>, of properties: [String] = []
    ) throws -> [[String: any Sendable]] {
        try performAndWait {
            let query = try bind(request).query
            let names = properties.isEmpty ? query.entity.attributeNames : properties
            let slots = try names.map { try storedSlot($0, of: query.entity) }
                .filter { query.entity.slots[$0].column != nil }
            return try coordinator.rows(query).map { row in
                var values: [String: any Sendable] = [:]
                for slot in slots where slot < row.values.count {
                    let name = query.entity.slots[slot].name
                    values[name] = decoded(row.values[slot], slot: slot, of: query.entity)
                }
                return values
            }
        }
    }

    /// Values computed over what a request asks for: one dictionary, or one for each group of equal
    /// values, in the order of these.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` for what cannot be computed.
    public func fetchAggregates<Object: ManagedObject>(
        _ request: FetchRequest<Object>, computing expressions: [AggregateExpression],
        groupedBy properties: [String] = []
    ) throws -> [[String: any Sendable]] {
        try performAndWait {
            let query = try bind(request).query
            guard query.limit == nil, query.offset == 0, !expressions.isEmpty else {
                throw ObjectError(
                    .invalidRequest, "aggregates need an expression, and allow no limit or offset")
            }
            let groups = try properties.map { try storedSlot($0, of: query.entity) }
            let columns = try groups.map { try column(slot: $0, of: query.entity) }
            let computed = try expressions.map { expression in
                let inner = try expression.attribute.map {
                    try column(slot: try storedSlot($0, of: query.entity), of: query.entity)
                }
                return "\(expression.function.rawValue)(\(inner ?? "*"))"
            }
            let list = columns.joined(separator: ", ")
            let rows = try coordinator.values(
                query, expression: (columns + computed).joined(separator: ", "),
                suffix: groups.isEmpty ? " LIMIT 1" : " GROUP BY \(list) ORDER BY \(list)")
            return rows.map { row in
                var values: [String: any Sendable] = [:]
                for (index, slot) in groups.enumerated() {
                    values[properties[index]] = decoded(row[index], slot: slot, of: query.entity)
                }
                for (index, expression) in expressions.enumerated() {
                    values[expression.name] = AttributeCoding(.any).decode(
                        row[groups.count + index])
                }
                return values
            }
        }
    }

    /// The sections of a request's results, with their places and sizes, counted by the store: no
    /// object is read. They are in the order of the request, which begins with the key.
    ///
    /// - Throws: ``ObjectError/Code/invalidRequest`` when the order begins with something else.
    public func sections<Object: ManagedObject>(
        of request: FetchRequest<Object>, by key: String
    ) throws -> [ResultSection] {
        try performAndWait {
            guard let first = request.sortKeys.first, first.path == [key], first.options.isEmpty,
                request.limit == nil, request.offset == 0
            else {
                throw ObjectError(
                    .invalidRequest,
                    "sections need a sort order that begins with their key, and no limit or offset",
                    hint: "Sort by “\(key)” first, without limit and offset")
            }
            let query = try bind(request).query
            let column = try column(slot: try storedSlot(key, of: query.entity), of: query.entity)
            let rows = try coordinator.values(
                query, expression: "\(column), count(*)",
                suffix: " GROUP BY \(column) ORDER BY \(column)"
                    + (first.isAscending ? "" : " DESC"))
            var offset = 0
            return rows.map { row in
                let count: Int
                if case .integer(let number) = row[1] { count = Int(number) } else { count = 0 }
                defer { offset += count }
                return ResultSection(name: ResultSection.name(row[0]), offset: offset, count: count)
            }
        }
    }

    private func storedSlot(_ name: String, of entity: EntityLayout) throws -> Int {
        if let slot = entity.slotIndex[name] { return slot }
        guard let relation = entity.relation(name) else { throw entity.unknownProperty(name) }
        guard case .reference(let slot) = relation.storage else {
            throw ObjectError(
                .invalidRequest, "a to-many relationship is not a value",
                entity: entity.name, property: name)
        }
        return slot
    }

    private func column(slot: Int, of entity: EntityLayout) throws -> String {
        guard let column = entity.slots[slot].column else {
            throw ObjectError(
                .invalidRequest, "it is not stored", entity: entity.name,
                property: entity.slots[slot].name)
        }
        return "t0." + SQLText.quoted(entity.table.columns[column].name)
    }

    private func decoded(
        _ value: Value, slot: Int, of entity: EntityLayout
    ) -> (any Sendable)? {
        guard case .reference(let relation) = entity.slots[slot].kind else {
            return entity.slots[slot].coding.decode(value)
        }
        let origin = identities.origin(entity.relations[relation].destinationRoot)
        return ManagedObjectKey(reference: value).map { identities.id(in: origin, key: $0) }
    }
}
