import Foundation
import SyncCore

// Reading and writing properties by name. Every access holds the gate.

extension ManagedObject {
    /// The present stored form of a slot; reads the store when the object is a fault.
    func readSlot(_ slot: Int) throws -> Value {
        try ensureRead()
        return current?[slot] ?? .null
    }

    /// As `readSlot`, for an access that cannot throw.
    func slotValue(_ slot: Int) -> Value {
        if current == nil { load() }
        return current?[slot] ?? .null
    }

    /// Reads a fault.
    func ensureRead() throws {
        if current == nil { try contextReference?.fulfill(self) }
    }

    /// Reads a fault for an access that cannot throw: the error is recorded in `readError`.
    func load() {
        do {
            try ensureRead()
        } catch {
            contextReference?.note(error, for: self)
        }
    }

    /// Why the last access to the object could not read it; nil when nothing went wrong. Such an
    /// access returns nil, and the object stays a fault: the next access tries again.
    public var readError: ObjectError? { gate.locked { readFailure } }

    /// The value of a property, as ``value(forKey:)``, or the reason why it could not be read.
    ///
    /// - Throws: ``ObjectError/Code/unknownProperty``, ``ObjectError/Code/gone`` for an object of
    ///   which nothing was ever read; an error of the store.
    public func readValue(forKey key: String) throws -> (any Sendable)? {
        try gate.locked {
            guard entity.slotIndex[key] != nil || entity.relationIndex[key] != nil else {
                throw entity.unknownProperty(key)
            }
            let body = { self.value(forKey: key) }
            let value = try contextReference.map { try $0.strict(body) } ?? body()
            if phase == .gone, current == nil { throw isGone() }
            return value
        }
    }

    private func isGone() -> ObjectError {
        var reason = "the object is gone, and its values were never read"
        if let author = goneDetail?.author { reason += ": \(author) deleted it" }
        return ObjectError(.gone, reason, entity: entity.name, object: identity)
    }

    /// The value of a property: an attribute's Swift value, an object, or an array of objects. Nil
    /// when there is none, or none is known.
    public func value(forKey key: String) -> (any Sendable)? {
        gate.locked {
            if isProbe { return probe?.read(key) }
            if let slot = entity.slotIndex[key],
                case .attribute(let attribute) = entity.slots[slot].kind
            {
                return decode(slotValue(slot), as: attribute)
            }
            guard let relation = entity.relationIndex[key] else { return nil }
            return entity.relations[relation].description.isToMany
                ? members(relation) : target(relation)
        }
    }

    private func decode(_ value: Value, as attribute: AttributeDescription) -> (any Sendable)? {
        guard let transformer = attribute.transformer else { return attribute.coding.decode(value) }
        guard case .blob(let bytes) = value else { return nil }
        return try? transformer.decode(Data(bytes))
    }

    /// A typed attribute; nil when it has no value or one of another type.
    @usableFromInline func attribute<T: AttributeConvertible>(_ key: String) -> T? {
        gate.locked {
            if isProbe { return probe?.read(key) as? T }
            guard let slot = entity.slotIndex[key] else { return nil }
            return T(stored: slotValue(slot), entity.slots[slot].coding)
        }
    }

    /// Sets a typed attribute. A refused value is reported by ``lastWrite``.
    @usableFromInline func assignAttribute<T: AttributeConvertible>(_ value: T?, forKey key: String)
    {
        gate.locked {
            // The fast path of most writes: an object that exists and was read.
            if let index = entity.slotIndex[key], entity.slots[index].isPlain, current != nil,
                phase != .gone,
                let stored = value.map({ $0.plainlyStored(entity.slots[index].coding) }) ?? .null
            {
                return noteWrite(isChange: store(stored, atSlot: index))
            }
            assign(value?.attributeValue, forKey: key)
        }
    }

    /// Sets a property.
    ///
    /// - Returns: The outcome. On a gone object the value is kept with its unsaved edits.
    /// - Throws: ``ObjectError/Code/unknownProperty``, ``ObjectError/Code/typeMismatch``, with
    ///   nothing changed.
    @discardableResult
    public func setValue(_ value: (any Sendable)?, forKey key: String) throws -> WriteOutcome {
        try gate.locked {
            do {
                lastOutcome =
                    try contextReference?.strict { try set(value, forKey: key) }
                    ?? set(value, forKey: key)
            } catch let error as ObjectError {
                lastOutcome = .rejected(error)
                throw error
            } catch {
                let error = ManagedObjectContext.readError(error, for: self)
                lastOutcome = .rejected(error)
                throw error
            }
            return lastOutcome
        }
    }

    /// As `setValue`, for accessors: a refused value is reported by ``lastWrite``.
    @usableFromInline func assign(_ value: (any Sendable)?, forKey key: String) {
        _ = try? setValue(value, forKey: key)
    }

    private func set(_ value: (any Sendable)?, forKey key: String) throws -> WriteOutcome {
        if let index = entity.slotIndex[key], entity.slots[index].isPlain {
            return try setSlot(
                index, to: try encode(value, as: entity.slots[index].coding, forKey: key))
        }
        if let slot = entity.slotIndex[key],
            case .attribute(let attribute) = entity.slots[slot].kind
        {
            guard attribute.derivation == nil else {
                throw problem("it is derived, and cannot be set", property: key)
            }
            return try setSlot(slot, to: try encode(value, as: attribute, forKey: key))
        }
        guard let index = entity.relationIndex[key] else { throw entity.unknownProperty(key) }
        let description = entity.relations[index].description
        if description.isToMany {
            guard let objects = value as? any Sequence else {
                throw problem("expected objects, found \(type(of: value))", property: key)
            }
            let members = try objects.map { try object($0, for: description, key: key) }
            return try setMembers(at: index, to: members)
        }
        guard let value, let value = AttributeCoding.unwrap(value) else {
            return try setTarget(at: index, to: nil)
        }
        return try setTarget(at: index, to: try object(value, for: description, key: key))
    }

    private func problem(_ reason: String, property key: String) -> ObjectError {
        ObjectError(.typeMismatch, reason, entity: entity.name, property: key, object: identity)
    }

    private func encode(
        _ value: (any Sendable)?, as coding: AttributeCoding, forKey key: String
    ) throws -> Value {
        do {
            return try coding.encode(value)
        } catch var error as ObjectError {
            error.entity = entity.name
            error.property = key
            error.object = identity
            throw error
        }
    }

    private func encode(
        _ value: (any Sendable)?, as attribute: AttributeDescription, forKey key: String
    ) throws -> Value {
        do {
            guard let transformer = attribute.transformer, let value,
                let value = AttributeCoding.unwrap(value)
            else { return try attribute.coding.encode(value) }
            return .blob([UInt8](try transformer.encode(value)))
        } catch var error as ObjectError {
            error.entity = entity.name
            error.property = key
            error.object = identity
            throw error
        }
    }

    /// The argument as an object that this relationship can lead to.
    private func object(
        _ value: Any, for description: RelationshipDescription, key: String
    ) throws -> ManagedObject {
        guard let object = value as? ManagedObject,
            object.entity.isKind(of: description.destination)
        else { throw problem("expected an object of \(description.destination)", property: key) }
        try requireSameContext(object, forKey: key)
        guard object.phase != .gone else {
            throw ObjectError(
                .gone, "the object is gone", entity: entity.name, property: key,
                object: object.identity)
        }
        return object
    }

    func requireSameContext(_ object: ManagedObject, forKey key: String) throws {
        guard object.contextReference !== contextReference || contextReference == nil else {
            return
        }
        throw ObjectError(
            .wrongContext, "the two objects belong to different contexts",
            hint: "Get it with existingObject(with:) from this object's context",
            entity: entity.name, property: key, object: identity)
    }

    /// - Throws: an error of the store when the object is a fault; nothing is changed then.
    func setSlot(_ slot: Int, to value: Value) throws -> WriteOutcome {
        let old = try readSlot(slot)
        if current == nil {
            // A gone object may never have been read: then nothing is known of it.
            current = entity.slots.map { _ in .null }
        }
        guard old != value else { return .unchanged }
        if phase == .gone {
            current?[slot] = value
            return .keptOnGone(goneDetail ?? Gone(.unknown))
        }
        store(value, atSlot: slot)
        return .changed
    }

    /// Sets a slot of an object that was read, and sends an event.
    ///
    /// - Returns: Whether the value changed.
    @discardableResult
    func store(_ value: Value, atSlot slot: Int) -> Bool {
        guard let old = current?[slot], old != value else { return false }
        if let context = contextReference {
            context.change(self, slot: slot, from: old, to: value)
        } else {
            current?[slot] = value
        }
        send(.changed([entity.slots[slot].name]))
        return true
    }

    /// A property by name. The outcome of a write, or why it was refused, is in ``lastWrite``.
    public subscript(key: String) -> (any Sendable)? {
        get { value(forKey: key) }
        set { assign(newValue, forKey: key) }
    }

    /// Reads the object as one; nil when it is gone, or about to be.
    func reading<Output>(_ body: (ManagedObject) -> Output?) -> Output? {
        gate.locked {
            if current == nil { load() }
            guard current != nil else { return nil }
            let isThere =
                phase == .detached
                || (phase == .inserted || phase == .live) && contextReference != nil
            return isThere ? body(self) : nil
        }
    }

    // MARK: What is known

    /// The values that the store had when it was last read, by name. Nil when nothing was ever
    /// read.
    public var committedValues: [String: any Sendable]? {
        gate.locked { committed.map(named) }
    }

    /// The same for an object that is gone: its last known values. Nil when nothing was ever read.
    public var lastKnown: [String: any Sendable]? { committedValues }

    /// Unsaved edits by name. A value that was set back is not an edit. Nil is a value that was
    /// removed.
    public var changedValues: [String: (any Sendable)?] {
        gate.locked {
            guard let current else { return [:] }
            var changes: [String: (any Sendable)?] = [:]
            for (index, slot) in entity.slots.enumerated() {
                guard case .attribute(let attribute) = slot.kind else {
                    if let committed, committed[index] != current[index],
                        case .reference(let relation) = slot.kind
                    {
                        changes.updateValue(target(relation)?.identity, forKey: slot.name)
                    }
                    continue
                }
                let former = committed?[index] ?? slot.defaultValue
                if former != current[index] {
                    changes.updateValue(decode(current[index], as: attribute), forKey: slot.name)
                }
            }
            return changes
        }
    }

    private func named(_ values: [Value]) -> [String: any Sendable] {
        var result: [String: any Sendable] = [:]
        for (index, slot) in entity.slots.enumerated() {
            guard case .attribute(let attribute) = slot.kind else { continue }
            if let value = decode(values[index], as: attribute) { result[slot.name] = value }
        }
        return result
    }
}

extension ManagedObject {
    /// The name of the stored property that a key path reads; nil for a computed one, and for every
    /// other.
    public static func propertyName(of keyPath: AnyKeyPath) -> String? {
        KeyPathNames.shared.name(of: keyPath, in: self)
    }

    static func makeProbe() -> ManagedObject {
        let table = TableLayout(name: "", key: [], kindColumn: nil, columns: [], isManaged: false)
        let layout = EntityLayout(
            description: EntityDescription(entityName()), root: entityName(),
            lineage: [entityName()], family: [], table: table, slots: [], relations: [])
        let object = self.init(detachedSeed(layout))
        object.isProbe = true
        return object
    }
}
