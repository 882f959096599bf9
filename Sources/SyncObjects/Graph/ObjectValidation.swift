import Foundation
import SyncCore

/// Checks an object before it is saved: the rules of its entity, then those of its class.
struct ObjectValidation {
    let object: ManagedObject
    let model: ManagedObjectModel
    private(set) var problems: [ObjectError] = []

    init(of object: ManagedObject, model: ManagedObjectModel) {
        self.object = object
        self.model = model
    }

    mutating func run() {
        if object.phase == .deletePending {
            checkDeletion()
            check { try $0.validateForDelete() }
            return
        }
        for slot in object.entity.slots.indices { checkSlot(slot) }
        for index in object.entity.relations.indices { checkRelation(index) }
        check {
            try $0.phase == .inserted ? $0.validateForInsert() : $0.validateForUpdate()
        }
    }

    private mutating func check(_ body: (ManagedObject) throws -> Void) {
        do {
            try body(object)
        } catch let error as ObjectError {
            problems.append(error)
        } catch {
            add(.validation, reason: "\(error)", property: nil, underlying: error)
        }
    }

    private mutating func add(
        _ code: ObjectError.Code, reason: String, property key: String?,
        underlying: (any Error)? = nil
    ) {
        problems.append(
            ObjectError(
                code, reason, entity: object.entity.name, property: key, object: object.identity,
                underlying: underlying))
    }

    private mutating func checkSlot(_ index: Int) {
        let slot = object.entity.slots[index]
        guard slot.isAttribute, !slot.isDerived else { return }
        check { try Self.validate($0, at: index, slot: slot) }
        let stored = object.slotValue(index)
        guard stored != .null else {
            if slot.isMandatory {
                add(.missingMandatory, reason: "a value is missing", property: slot.name)
            }
            return
        }
        guard !slot.rules.isEmpty, case .attribute(let attribute) = slot.kind else { return }
        for rule in slot.rules { check(stored, against: rule, of: attribute) }
    }

    /// Calls the class's validation, which may replace the value.
    private static func validate(
        _ object: ManagedObject, at index: Int, slot: EntityLayout.Slot
    ) throws {
        let former = object.slotValue(index)
        let before = slot.isPlain ? slot.coding.decode(former) : object.value(forKey: slot.name)
        var value = before
        try object.validate(&value, forKey: slot.name)
        if slot.isPlain, isSame(value, before: before, stored: former, coding: slot.coding) {
            return
        }
        try object.setValue(value, forKey: slot.name)
    }

    /// Whether validation left the value as it was, so that it is not set again. Common types are
    /// compared directly, which costs less than encoding the value.
    private static func isSame(
        _ value: (any Sendable)?, before: (any Sendable)?, stored former: Value,
        coding: AttributeCoding
    ) -> Bool {
        guard let value else { return former == .null }
        switch (coding.type, former) {
        case (.string, .text):
            if let text = value as? String { return .text(text) == former }
        case (.integer16, .integer(let number)):
            if let value = value as? Int16 { return Int64(value) == number }
        case (.integer32, .integer(let number)):
            if let value = value as? Int32 { return Int64(value) == number }
        case (.integer64, .integer(let number)):
            if let value = value as? Int64 { return value == number }
        case (.boolean, .integer(let number)):
            if let flag = value as? Bool { return number == (flag ? 1 : 0) }
        case (.double, .real(let number)):
            if let value = value as? Double { return value == number }
        case (.date, _):
            if let date = value as? Date, let before = before as? Date { return date == before }
        default: break
        }
        guard let stored = try? coding.encode(value) else { return false }
        return stored == former
    }

    private mutating func check(
        _ value: Value, against rule: ValidationRule, of attribute: AttributeDescription
    ) {
        let name = attribute.name
        let number = Double(stored: value, attribute.coding)
        let text = String(stored: value, attribute.coding)
        let date = attribute.type == .date ? Date(stored: value, attribute.coding) : nil
        switch rule {
        case .minimum(let limit):
            if let number, number < limit {
                add(.numberTooSmall, reason: "\(number) is below \(limit)", property: name)
            }
        case .maximum(let limit):
            if let number, number > limit {
                add(.numberTooLarge, reason: "\(number) is above \(limit)", property: name)
            }
        case .notBefore(let limit):
            if let date, date < limit {
                add(.dateTooSoon, reason: "\(date) is before \(limit)", property: name)
            }
        case .notAfter(let limit):
            if let date, date > limit {
                add(.dateTooLate, reason: "\(date) is after \(limit)", property: name)
            }
        case .minimumLength(let limit):
            if let text, text.count < limit {
                add(.stringTooShort, reason: "shorter than \(limit) characters", property: name)
            }
        case .maximumLength(let limit):
            if let text, text.count > limit {
                add(.stringTooLong, reason: "longer than \(limit) characters", property: name)
            }
        case .pattern(let pattern):
            if let text, !TextMatching.matches(text, pattern: pattern, options: []) {
                add(.patternMismatch, reason: "“\(text)” does not match \(pattern)", property: name)
            }
        case .predicate(let format): checkPredicate(format, of: attribute)
        }
    }

    /// `SELF` in such a predicate is the value.
    private mutating func checkPredicate(_ format: String, of attribute: AttributeDescription) {
        do {
            let text = format.split(separator: " ", omittingEmptySubsequences: false)
                .map { $0 == "SELF" ? attribute.name : String($0) }.joined(separator: " ")
            let bound = try PredicateBinder(model: model).bind(
                try FetchPredicate(text), to: object.entity)
            if !PredicateEvaluator.evaluate(bound, on: object) {
                add(
                    .validation, reason: "the value breaks the rule “\(format)”",
                    property: attribute.name)
            }
        } catch {
            add(
                .validation, reason: "the rule cannot be read", property: attribute.name,
                underlying: error)
        }
    }

    private mutating func checkRelation(_ index: Int) {
        let description = object.entity.relations[index].description
        let isChecked =
            !description.isOptional || description.minCount > 0
            || description.maxCount > 1
        guard isChecked else { return }
        let count =
            description.isToMany
            ? object.members(index).count : (object.target(index) == nil ? 0 : 1)
        if count == 0, description.isOptional { return }
        if count == 0 {
            add(.missingMandatory, reason: "the relationship is empty", property: description.name)
        } else if count < description.minCount {
            add(
                .tooFew, reason: "\(count) objects are fewer than \(description.minCount)",
                property: description.name
            )
        } else if description.maxCount > 0, count > description.maxCount {
            add(
                .tooMany, reason: "\(count) objects are more than \(description.maxCount)",
                property: description.name
            )
        }
    }

    private mutating func checkDeletion() {
        for (index, relation) in object.entity.relations.enumerated()
        where relation.description.deleteRule == .deny {
            let count =
                relation.description.isToMany
                ? object.members(index).count : (object.target(index) == nil ? 0 : 1)
            if count > 0 {
                add(
                    .deleteDenied, reason: "the relationship still has \(count) objects",
                    property: relation.name)
            }
        }
    }
}
