import SyncCore

// The other ends of relationships: what the store has, with the unsaved changes of this context
// applied.

extension ManagedObjectContext {
    func dropMembers() { memberCache.removeAll() }

    func members(of object: ManagedObject, relation index: Int) throws -> [ManagedObject] {
        let relation = object.entity.relations[index]
        let key = MemberCache.Key(owner: object.identity, relation: relation.name)
        switch relation.storage {
        case .reference: return [try object.readTarget(index)].compactMap { $0 }
        case .inverse(let name, let slot, let position):
            let members =
                try cached(key) ?? inverseMembers(of: object, entity: name, slot: slot, key: key)
            guard let position else { return members }
            return try members.enumerated().map { (try $1.readSlot(position), $0, $1) }
                .sorted {
                    let order = PredicateEvaluator.order(of: $0.0, and: $1.0, as: .number)
                    return order == 0 ? $0.1 < $1.1 : order < 0
                }.map(\.2)
        case .join(let join, let isSource):
            return try cached(key)
                ?? joinMembers(
                    of: object, along: relation, join: join, isSource: isSource, key: key)
        }
    }

    /// The cached members, if all of them are still in memory.
    private func cached(_ key: MemberCache.Key) -> [ManagedObject]? {
        guard let ids = memberCache[key] else { return nil }
        var objects: [ManagedObject] = []
        objects.reserveCapacity(ids.count)
        for id in ids {
            guard let object = registry[id] else { return nil }
            if object.phase != .gone, object.phase != .deletePending { objects.append(object) }
        }
        return objects
    }

    private func inverseMembers(
        of owner: ManagedObject, entity name: String, slot: Int, key: MemberCache.Key
    ) throws -> [ManagedObject] {
        guard let entity = model.layouts[name], let reference = owner.identity.key.reference else {
            return []
        }
        var query = ObjectQuery(entity: entity)
        query.predicate = .compare(
            .slot([], entity, slot, .any), .equal, .value(reference, .any), [])
        let isNew = owner.phase == .inserted
        var members: [ManagedObject] = []
        if !isNew {
            members = try source.rows(query).map { object(for: $0) }.filter {
                $0.phase != .gone && $0.phase != .deletePending && $0.current?[slot] == reference
            }
        }
        let known = Set(members)
        members += unsaved.objects.filter {
            $0.entity.isKind(of: name) && !known.contains($0)
                && ($0.phase == .inserted || $0.phase == .live) && $0.current?[slot] == reference
        }
        memberCache[key] = members.map(\.identity)
        return members
    }

    private func joinMembers(
        of owner: ManagedObject, along relation: EntityLayout.Relation, join: JoinLayout,
        isSource: Bool, key: MemberCache.Key
    ) throws -> [ManagedObject] {
        guard let own = owner.identity.key.reference else { return [] }
        var pairs = try source.pairs(join, isSource: isSource, of: own)
        if unsaved.hasJoinEdits {
            let edit = unsaved.joinEdit(of: join)
            let pair = { (other: Value) in
                isSource
                    ? SaveRequest.Pair(source: own, target: other)
                    : SaveRequest.Pair(source: other, target: own)
            }
            pairs.removeAll {
                edit.removed.contains(pair($0.key)) || edit.added[pair($0.key)] != nil
            }
            for (added, order) in edit.added where (isSource ? added.source : added.target) == own {
                pairs.append(
                    (isSource ? added.target : added.source, isSource ? order.target : order.source)
                )
            }
            pairs.sort {
                let order = PredicateEvaluator.order(of: $0.order, and: $1.order, as: .number)
                return order == 0
                    ? PredicateEvaluator.order(of: $0.key, and: $1.key, as: .any) < 0 : order < 0
            }
        }
        let members = try resolve(pairs.map(\.key), along: relation)
        memberCache[key] = members.map(\.identity)
        return members
    }

    /// The objects with these keys. Unknown ones are read with one query.
    private func resolve(
        _ keys: [Value], along relation: EntityLayout.Relation
    ) throws -> [ManagedObject] {
        guard let entity = model.layouts[relation.description.destination] else { return [] }
        let origin = identities.origin(relation.destinationRoot)
        let ids = keys.compactMap { ManagedObjectKey(reference: $0) }
            .map { identities.resolve(identities.id(in: origin, key: $0)) }
        var query = ObjectQuery(entity: entity)
        let unknown = ids.filter { registry[$0] == nil }.map(\.key)
        var read: [ManagedObject] = []
        if !unknown.isEmpty {
            query.keys = unknown
            read = try source.rows(query).map { object(for: $0) }
        }
        return withExtendedLifetime(read) {
            ids.compactMap { registry[$0] }
                .filter { $0.phase != .gone && $0.phase != .deletePending }
        }
    }

    // MARK: Keeping in step

    /// Updates cached members when the reference of an object changes.
    func moveMember(
        _ object: ManagedObject, along relation: EntityLayout.Relation, from old: Value,
        to new: Value
    ) {
        guard let inverse = relation.description.inverse else { return }
        let origin = identities.origin(relation.destinationRoot)
        let key = { (reference: Value) -> MemberCache.Key? in
            ManagedObjectKey(reference: reference).map {
                let id = self.identities.id(in: origin, key: $0)
                return MemberCache.Key(owner: self.identities.resolve(id), relation: inverse)
            }
        }
        if let key = key(old) {
            memberCache.remove(object.identity, from: key)
            touched.updated.insert(key.owner)
            registry[key.owner]?.send(.changed([inverse]))
        }
        if let key = key(new) {
            memberCache.add(object.identity, to: key)
            touched.updated.insert(key.owner)
            registry[key.owner]?.send(.changed([inverse]))
        }
    }

    func removeMember(_ object: ManagedObject) {
        for (slot, description) in object.entity.slots.enumerated() {
            guard let relation = description.relation, let value = object.current?[slot],
                value != .null
            else { continue }
            moveMember(object, along: object.entity.relations[relation], from: value, to: .null)
        }
    }

    // MARK: Many to many

    func setPairs(
        of owner: ManagedObject, in join: JoinLayout, isSource: Bool, from former: [ManagedObject],
        to members: [ManagedObject]
    ) {
        guard let own = owner.identity.key.reference else { return }
        let before = unsaved.joinEdit(of: join)
        var edit = before
        var changes: [SaveRequest.Pair: UndoLog.PairsEntry.Change] = [:]
        let pair = { (other: ManagedObject) -> SaveRequest.Pair in
            let key = other.identity.key.reference ?? .null
            return isSource
                ? SaveRequest.Pair(source: own, target: key)
                : SaveRequest.Pair(source: key, target: own)
        }
        let kept = Set(members)
        let had = Set(former)
        let isOrdered = join.orderColumn(isSource: isSource) != nil
        let order = { (place: Int, known: SaveRequest.PairOrder?) -> SaveRequest.PairOrder in
            var order = known ?? SaveRequest.PairOrder()
            let value: Value = isOrdered ? .real(Double(place + 1) * 1024) : .null
            if isSource { order.target = value } else { order.source = value }
            return order
        }
        for (place, object) in former.enumerated() {
            changes[pair(object)] = .init(
                old: before.added[pair(object)] ?? order(place, nil), new: nil)
        }
        for object in former where !kept.contains(object) {
            if edit.added.removeValue(forKey: pair(object)) == nil || owner.phase != .inserted {
                edit.removed.insert(pair(object))
            }
            touched.updated.insert(object.identity)
        }
        for (place, object) in members.enumerated() {
            let new = order(place, edit.added[pair(object)])
            let old = changes[pair(object)]?.old
            changes[pair(object)] = isOrdered || old == nil ? .init(old: old, new: new) : nil
            guard isOrdered || !had.contains(object) else { continue }
            edit.added[pair(object)] = new
            edit.removed.remove(pair(object))
            touched.updated.insert(object.identity)
        }
        if !changes.isEmpty {
            undoLog?.note(.pairs(.init(former: before, saves: unsaved.saveCount, changes: changes)))
        }
        unsaved.setJoinEdit(edit)
        touched.updated.insert(owner.identity)
        dropMembers()
    }
}
