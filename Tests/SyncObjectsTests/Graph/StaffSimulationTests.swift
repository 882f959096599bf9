import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// Random graphs of objects with every delete rule: random edits, deletions, undo and redo, failed
/// and repeated saves, in a context and in children of it, beside a simple model.
@Suite struct StaffSimulationTests {
    @Test(
        arguments: TestSeed.each(of: 1...30),
        [MergePolicy.fail, .keepLocal, .keepStored, .overwrite, .discardLocal])
    func rowsAreThoseOfTheModel(seed: TestSeed, policy: MergePolicy) throws {
        var simulation = try StaffSimulation(seed: seed, policy: policy)
        for _ in 0..<60 { try simulation.step() }
        try simulation.finish()
    }
}

/// One run.
private struct StaffSimulation {
    private let container: PersistentContainer
    private let context: ManagedObjectContext
    private let seed: TestSeed
    private var random: SeededRandom
    private var saved = StaffPicture()
    private var current = StaffPicture()
    private var undoSteps: [StaffPicture] = []
    private var redoSteps: [StaffPicture] = []
    private var count = 0
    /// What was done, for the message of a failure.
    private var log: [String] = []

    init(seed: TestSeed, policy: MergePolicy) throws {
        self.seed = seed
        random = seed.random
        container = try PersistentContainer.inMemory(try StaffModel.make())
        context = try container.newBackgroundContext(author: "me")
        context.mergePolicy = policy
        context.isUndoEnabled = true
    }

    private mutating func roll(_ sides: UInt64) -> UInt64 { random.next() % sides }

    // MARK: Steps

    mutating func step() throws {
        switch roll(12) {
        case 0, 1: try save()
        case 2:
            log.append("rollback")
            context.rollback()
            current = saved
            (undoSteps, redoSteps) = ([], [])
        case 3: try undo()
        case 4: try redo()
        case 5, 6: try inChild()
        default:
            let before = current
            let steps = undoCount
            var picture = current
            try change(context, &picture)
            current = picture
            if undoCount > steps { noteStep(before) }
        }
        try expectObjects()
    }

    private var undoCount: Int {
        context.processPendingChanges()
        return context.undoLog?.undoSteps.count ?? 0
    }

    private mutating func noteStep(_ before: StaffPicture) {
        undoSteps.append(before)
        redoSteps = []
    }

    private mutating func undo() throws {
        guard context.canUndo, let before = undoSteps.popLast() else { return }
        log.append("undo")
        let steps = redoCount
        try context.undo()
        if redoCount > steps { redoSteps.append(current) }
        current = before
    }

    private var redoCount: Int { context.undoLog?.redoSteps.count ?? 0 }

    private mutating func redo() throws {
        guard context.canRedo, let after = redoSteps.popLast() else { return }
        log.append("redo")
        let steps = undoCount
        try context.redo()
        if undoCount > steps { undoSteps.append(current) }
        current = after
    }

    /// A child, or a child of a child, that changes some objects and saves, or does not.
    private mutating func inChild() throws {
        let isDeep = roll(3) == 0
        let first = context.makeChild()
        let child = isDeep ? first.makeChild() : first
        log.append(isDeep ? "grandchild" : "child")
        var picture = current
        for _ in 0...roll(3) { try change(child, &picture) }
        let isKept = roll(4) > 0 && !picture.isDenied
        guard isKept else {
            log.append("child ends")
            return child.rollback()
        }
        log.append("child saves")
        let before = current
        let steps = undoCount
        try child.save()
        #expect(!child.hasChanges, "\(story)")
        if isDeep {
            try first.save()
            #expect(!first.hasChanges, "\(story)")
        }
        current = picture
        if undoCount > steps { noteStep(before) }
    }

    // MARK: Changes

    private mutating func change(
        _ context: ManagedObjectContext, _ picture: inout StaffPicture
    ) throws {
        let objects = try objects(context)
        let numbers = picture.items.keys.sorted()
        guard numbers.count > 9, let number = numbers.randomElement(using: &random) else {
            return try insert(context, &picture)
        }
        guard let object = objects[number], let item = picture.items[number] else {
            return #expect(objects[number] != nil, "\(number) is missing: \(story)") as Void
        }
        switch roll(10) {
        case 0 where numbers.count < 24: try insert(context, &picture)
        case 0, 1, 2:
            log.append("delete \(item.entity) \(number)")
            try context.delete(object)
            picture.delete(number)
            // What is deleted can still be edited.
            if roll(2) == 0 { object["name"] = "late \(roll(1000))" }
        case 3, 4:
            let name = "\(number) is \(roll(1000))"
            log.append("name \(number)")
            try object.setValue(name, forKey: "name")
            picture.items[number]?.name = name
        case 5 where item.entity == "Person":
            guard let label = picture.numbers("Label").randomElement(using: &random),
                let other = objects[label] as? StaffLabel, let person = object as? StaffPerson
            else { return }
            log.append("label \(number) \(label)")
            if person.labels.contains(other) {
                try person.remove(other, from: "labels")
            } else {
                try other.add(person, to: "persons")
            }
            picture.toggle(number, label)
        default:
            try relate(object, number: number, entity: item.entity, objects: objects, in: &picture)
        }
    }

    private mutating func relate(
        _ object: ManagedObject, number: Int, entity: String, objects: [Int: ManagedObject],
        in picture: inout StaffPicture
    ) throws {
        let choices = [
            "Person": [("team", "Team"), ("boss", "Person")],
            "Job": [("team", "Team"), ("owner", "Person"), ("note", "Note")],
            "Note": [("job", "Job")],
        ]
        guard let (name, far) = choices[entity]?.randomElement(using: &random) else { return }
        let target = roll(3) == 0 ? nil : picture.numbers(far).randomElement(using: &random)
        log.append("\(entity) \(number).\(name) = \(target.map(String.init) ?? "nil")")
        try object.setValue(target.flatMap { objects[$0] }, forKey: name)
        picture.set(name, of: number, to: target)
    }

    private mutating func insert(
        _ context: ManagedObjectContext, _ picture: inout StaffPicture
    ) throws {
        let entity =
            ["Team", "Person", "Person", "Job", "Note", "Label"].randomElement(using: &random)
            ?? "Person"
        count += 1
        log.append("insert \(entity) \(count)")
        let object = try context.insert(entity)
        try object.setValue("\(count)", forKey: "name")
        picture.items[count] = .init(entity: entity, name: "\(count)")
    }

    // MARK: Saving

    private mutating func save() throws {
        let steps = undoCount
        stamp()
        if current.isDenied {
            log.append("save that is denied")
            #expect(throws: ObjectError.self, "\(story)") { try context.save() }
        } else {
            if roll(4) == 0 { try saveInVain() }
            log.append("save")
            do { try context.save() } catch { throw Failure(error: error, story: story) }
            #expect(!context.hasChanges, "\(story)")
            saved = current
            try expectRows()
        }
        // What `willSave` edits is a step of its own.
        if undoCount > steps { noteStep(current) }
    }

    /// A save that is refused for another object's sake, then repeated.
    private mutating func saveInVain() throws {
        log.append("save that is refused")
        let nameless = try StaffTeam(context: context)
        #expect(throws: ObjectError.self, "\(story)") { try context.save() }
        try context.delete(nameless)
        context.processPendingChanges()
        // Nothing of it can be taken back: begin again.
        context.isUndoEnabled = false
        context.isUndoEnabled = true
        (undoSteps, redoSteps) = ([], [])
    }

    /// Has `willSave` edit persons, those to be deleted too.
    private mutating func stamp() {
        guard roll(3) == 0 else { return }
        let ids = context.deletedObjects.union(context.updatedObjects).map(\.objectID)
        StaffPerson.stamps.withLock { $0.formUnion(ids) }
    }

    mutating func finish() throws {
        while current.isDenied {
            log.append("rollback")
            context.rollback()
            current = saved
            (undoSteps, redoSteps) = ([], [])
        }
        try save()
        try expectRows()
        #expect(try container.coordinator.resolvedConflicts.isEmpty, "\(story)")
    }

    // MARK: Looking

    private var story: String { "\(seed): " + log.joined(separator: ", ") }

    private struct Failure: Error {
        let error: any Error
        let story: String
    }

    private func objects(_ context: ManagedObjectContext) throws -> [Int: ManagedObject] {
        var objects: [Int: ManagedObject] = [:]
        for entity in ["Team", "Person", "Job", "Note", "Label"] {
            for object in try context.fetch(FetchRequest<ManagedObject>(entity)) {
                objects[number(object)] = object
            }
        }
        return objects
    }

    private func number(_ object: ManagedObject) -> Int {
        let name = object["name"] as? String ?? ""
        return Int(name.prefix { $0.isNumber }) ?? 0
    }

    private func picture(_ context: ManagedObjectContext) throws -> StaffPicture {
        var picture = StaffPicture()
        for (number, object) in try objects(context) {
            var item = StaffPicture.Item(
                entity: object.entity.name, name: object["name"] as? String ?? "")
            for name in ["team", "boss", "owner", "job"]
            where object.entity.relationIndex[name] != nil {
                item.references[name] = (object[name] as? ManagedObject).map(self.number)
            }
            picture.items[number] = item
            for label in (object as? StaffPerson)?.labels ?? [] {
                picture.labels.append([number, self.number(label)])
            }
        }
        picture.labels.sort { $0.lexicographicallyPrecedes($1) }
        return picture
    }

    private func expectObjects() throws {
        // An owner whose deletion will be denied cannot be recognized by its number.
        guard !current.isDenied else { return }
        let found = try picture(context)
        if found != current {
            Issue.record("objects \(found)\nmodel \(current)\n\(story)")
            throw CancellationError()
        }
    }

    private func expectRows() throws {
        let found = try picture(try container.newBackgroundContext())
        if found != saved {
            Issue.record("rows \(found)\nmodel \(saved)\n\(story)")
            throw CancellationError()
        }
    }
}
