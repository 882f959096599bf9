import SyncCore

// Relationships. References stand in slots of one side; the other side is found from them, so
// setting either end sets both.

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
    func target(_ index: Int) -> ManagedObject? {
        let relation = entity.relations[index]
        switch relation.storage {
        case .reference(let slot):
            guard let context = contextReference,
                let key = ObjectKey(reference: slotValue(slot))
            else { return nil }
            return context.object(atReference: key, relation)
        case .inverse, .join: return members(index).first
        }
    }

    /// The objects that a relationship leads to, in order.
    func members(_ index: Int) -> [ManagedObject] {
        contextReference?.members(of: self, index) ?? []
    }

    func setTarget(_ index: Int, _ target: ManagedObject?) throws -> WriteOutcome {
        let relation = entity.relations[index]
        switch relation.storage {
        case .reference(let slot):
            return setReference(slot, relation, target)
        case .inverse(_, let slot, _):
            let former = members(index)
            guard former != [target].compactMap({ $0 }) else { return .unchanged }
            for object in former { _ = object.setSlot(slot, .null) }
            if let target { _ = target.setSlot(slot, reference) }
            return .changed
        case .join: return .unchanged
        }
    }

    private func setReference(
        _ slot: Int, _ relation: EntityLayout.Relation, _ target: ManagedObject?
    ) -> WriteOutcome {
        guard let target else { return setSlot(slot, .null) }
        let new = target.identity.key.reference ?? .null
        guard slotValue(slot) != new else { return .unchanged }
        if let name = relation.description.inverse,
            let inverse = target.entity.relationIndex[name]
        {
            let back = target.entity.relations[inverse]
            if !back.description.isToMany {
                // One-to-one: whoever led there until now does not any more.
                for other in target.members(inverse) where other !== self {
                    _ = other.setSlot(slot, .null)
                }
            } else if case .inverse(_, _, let position?) = back.storage {
                let last = target.members(inverse).last?.slotValue(position)
                _ = setSlot(position, ListOrder.after(last ?? .null))
            }
        }
        return setSlot(slot, new)
    }

    func setMembers(_ index: Int, _ members: [ManagedObject]) throws -> WriteOutcome {
        let relation = entity.relations[index]
        var seen: Set<ObjectIdentifier> = []
        let members = members.filter { seen.insert(ObjectIdentifier($0)).inserted }
        let former = self.members(index)
        guard former != members else { return .unchanged }
        switch relation.storage {
        case .inverse(_, let slot, let position):
            let own = reference
            for object in former where !seen.contains(ObjectIdentifier(object)) {
                _ = object.setSlot(slot, .null)
            }
            for object in members where object.slotValue(slot) != own {
                if let position { _ = object.setSlot(position, .null) }
                _ = object.setSlot(slot, own)
            }
            if let position {
                let places = ListOrder.places(members.map { $0.slotValue(position) })
                for (object, place) in zip(members, places) { _ = object.setSlot(position, place) }
            }
        case .join(let join, let isSource):
            contextReference?.setPairs(self, join, isSource: isSource, former, members)
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
            let members = members(index)
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
            let members = members(index)
            guard members.contains(object) else { return .unchanged }
            return try setValue(members.filter { $0 !== object }, forKey: key)
        }
    }
}
