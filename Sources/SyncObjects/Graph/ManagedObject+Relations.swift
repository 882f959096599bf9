import SyncCore

// Relationships. References are stored in slots of one side; the other side is derived from them,
// so that setting either end sets both.

extension ManagedObject: PredicateSubject {
    func value(atSlot slot: Int) -> Value { gate.locked { slotValue(slot) } }

    var reference: Value { gate.locked { identity.key.reference ?? .null } }

    func target(ofRelation relation: Int) -> (any PredicateSubject)? {
        gate.locked { target(relation) }
    }

    func members(ofRelation relation: Int) -> [any PredicateSubject] {
        gate.locked { members(relation) }
    }
}

extension ManagedObject {
    /// The object that a to-one relationship leads to.
    func readTarget(_ index: Int) throws -> ManagedObject? {
        let relation = entity.relations[index]
        switch relation.storage {
        case .reference(let slot):
            guard let context = contextReference,
                let key = ManagedObjectKey(reference: try readSlot(slot))
            else { return nil }
            return try context.object(atReference: key, along: relation)
        case .inverse, .join: return try readMembers(index).first
        }
    }

    /// The objects that a relationship leads to, in order.
    func readMembers(_ index: Int) throws -> [ManagedObject] {
        try contextReference?.members(of: self, relation: index) ?? []
    }

    /// As `readTarget`, for an access that cannot throw.
    func target(_ index: Int) -> ManagedObject? {
        noting { try readTarget(index) } ?? nil
    }

    /// As `readMembers`, for an access that cannot throw.
    func members(_ index: Int) -> [ManagedObject] {
        noting { try readMembers(index) } ?? []
    }

    /// The error is recorded in `readError`.
    private func noting<Result>(_ body: () throws -> Result) -> Result? {
        do {
            let result = try body()
            readFailure = nil
            return result
        } catch {
            contextReference?.note(error, for: self)
            return nil
        }
    }

    func setTarget(at index: Int, to target: ManagedObject?) throws -> WriteOutcome {
        let relation = entity.relations[index]
        switch relation.storage {
        case .reference(let slot):
            return try setReference(at: slot, of: relation, to: target)
        case .inverse(_, let slot, _):
            let former = try readMembers(index)
            guard former != [target].compactMap({ $0 }) else { return .unchanged }
            try target?.ensureRead()
            for object in former { _ = try object.setSlot(slot, to: .null) }
            if let target { _ = try target.setSlot(slot, to: reference) }
            return .changed
        case .join: return .unchanged
        }
    }

    private func setReference(
        at slot: Int, of relation: EntityLayout.Relation, to target: ManagedObject?
    ) throws -> WriteOutcome {
        guard let target else { return try setSlot(slot, to: .null) }
        let new = target.identity.key.reference ?? .null
        guard try readSlot(slot) != new else { return .unchanged }
        if let name = relation.description.inverse,
            let inverse = target.entity.relationIndex[name]
        {
            let back = target.entity.relations[inverse]
            if !back.description.isToMany {
                // One-to-one: the former object at this end loses its reference.
                for other in try target.readMembers(inverse) where other !== self {
                    _ = try other.setSlot(slot, to: .null)
                }
            } else if case .inverse(_, _, let position?) = back.storage {
                let last = try target.readMembers(inverse).last?.readSlot(position)
                _ = try setSlot(position, to: ListOrder.after(last ?? .null))
            }
        }
        return try setSlot(slot, to: new)
    }

    func setMembers(at index: Int, to members: [ManagedObject]) throws -> WriteOutcome {
        let relation = entity.relations[index]
        var seen: Set<ObjectIdentifier> = []
        let members = members.filter { seen.insert(ObjectIdentifier($0)).inserted }
        let former = try readMembers(index)
        guard former != members else { return .unchanged }
        for member in members { try member.ensureRead() }
        switch relation.storage {
        case .inverse(_, let slot, let position):
            let own = reference
            for object in former where !seen.contains(ObjectIdentifier(object)) {
                _ = try object.setSlot(slot, to: .null)
            }
            for object in members where object.slotValue(slot) != own {
                if let position { _ = try object.setSlot(position, to: .null) }
                _ = try object.setSlot(slot, to: own)
            }
            if let position {
                let places = ListOrder.places(members.map { $0.slotValue(position) })
                for (object, place) in zip(members, places) {
                    _ = try object.setSlot(position, to: place)
                }
            }
        case .join(let join, let isSource):
            contextReference?.setPairs(
                of: self, in: join, isSource: isSource, from: former, to: members)
        case .reference: return .unchanged
        }
        send(.changed([relation.name]))
        return .changed
    }

    /// Adds an object at the end of a to-many relationship.
    ///
    /// - Throws: as `setValue(_:forKey:)`
    @discardableResult
    public func add(_ object: ManagedObject, to key: String) throws -> WriteOutcome {
        try gate.locked {
            guard let index = entity.relationIndex[key] else { throw entity.unknownProperty(key) }
            let members = try readMembers(index)
            guard !members.contains(object) else { return .unchanged }
            return try setValue(members + [object], forKey: key)
        }
    }

    /// Takes an object out of a to-many relationship. The object stays.
    ///
    /// - Throws: as `setValue(_:forKey:)`
    @discardableResult
    public func remove(_ object: ManagedObject, from key: String) throws -> WriteOutcome {
        try gate.locked {
            guard let index = entity.relationIndex[key] else { throw entity.unknownProperty(key) }
            try requireSameContext(object, forKey: key)
            let members = try readMembers(index)
            guard members.contains(object) else { return .unchanged }
            return try setValue(members.filter { $0 !== object }, forKey: key)
        }
    }
}
