import Foundation
import Testing

@testable import SyncObjects

/// Which key paths have names: those of stored properties, and no others.
@Suite struct KeyPathNamesTests {
    class Animal: ManagedObject, @unchecked Sendable {
        enum Size: String, AttributeConvertible, CaseIterable { case small, large }
        enum Coat: Int, AttributeConvertible { case short = 3, long = 5 }
        /// Nothing says which values it has: an inherited attribute of it cannot be told from a
        /// computed one.
        enum Mood: String, AttributeConvertible { case calm }

        @Attribute("called") var name: String?
        @Attribute("legs") var legs: Int?
        @Attribute("size") var size: Size?
        @Attribute("coat") var coat: Coat?
        @Attribute("mood") var mood: Mood?
        @ToOne("mother") var mother: Animal?
        @ToMany("young") var young: [Animal]
        @Transformed("marks") var marks: [Int]?
        /// As a program may write an accessor by hand.
        var weight: Double? {
            get { self["weight"] as? Double }
            set { self["weight"] = newValue }
        }
        var atMostFour: Int? { legs.map { min($0, 4) } }
        var atLeastZero: Int? { legs.map { max($0, 0) } }
        var upper: String? { name?.uppercased() }
        var first: String? { name.map { String($0.prefix(200)) } }
        var grandmother: Animal? { mother?.mother }
        var twins: [Animal] { young.reversed() }
        var otherSize: Size? { size == .small ? .large : size }
        var isSmall: Bool { size == .small }
        var heavy: Double? { weight.map { max($0, 1) } }
        var product: Int? { legs.flatMap { name == nil ? $0 : nil } }
        var traps: Int { legs! * 2 }
    }

    final class Cat: Animal, @unchecked Sendable {
        @Attribute("lives") var lives: Int?
        var nine: Int? { lives ?? 9 }
    }

    @Test func storedPropertiesHaveNames() {
        #expect(Animal.propertyName(of: \Animal.name) == "called")
        #expect(Animal.propertyName(of: \Animal.legs) == "legs")
        #expect(Animal.propertyName(of: \Animal.size) == "size")
        #expect(Animal.propertyName(of: \Animal.coat) == "coat")
        #expect(Animal.propertyName(of: \Animal.mood) == "mood")
        #expect(Animal.propertyName(of: \Animal.mother) == "mother")
        #expect(Animal.propertyName(of: \Animal.young) == "young")
        #expect(Animal.propertyName(of: \Animal.marks) == "marks")
        #expect(Animal.propertyName(of: \Animal.weight) == "weight")
        #expect(Cat.propertyName(of: \Animal.name) == "called")
    }

    @Test func inheritedPropertiesHaveNames() {
        #expect(Cat.propertyName(of: \Cat.name) == "called")
        #expect(Cat.propertyName(of: \Cat.legs) == "legs")
        #expect(Cat.propertyName(of: \Cat.size) == "size")
        #expect(Cat.propertyName(of: \Cat.coat) == "coat")
        #expect(Cat.propertyName(of: \Cat.mood) == nil)
        #expect(Cat.propertyName(of: \Cat.mother) == "mother")
        #expect(Cat.propertyName(of: \Cat.young) == "young")
        #expect(Cat.propertyName(of: \Cat.weight) == "weight")
        #expect(Cat.propertyName(of: \Cat.lives) == "lives")
    }

    @Test func computedPropertiesHaveNone() {
        let animals: [PartialKeyPath<Animal>] = [
            \.atMostFour, \.atLeastZero, \.upper, \.first, \.grandmother, \.twins, \.isSmall,
            \.heavy, \.otherSize, \.product, \.traps, \.mother?.name, \.mother?.mother,
            \.young.count,
            \.objectID, \.isInserted, \.state, \.lastKnown,
        ]
        for keyPath in animals {
            #expect(Animal.propertyName(of: keyPath) == nil, "\(keyPath)")
        }
        let cats: [PartialKeyPath<Cat>] = [
            \.atMostFour, \.atLeastZero, \.upper, \.first, \.grandmother, \.twins, \.isSmall,
            \.heavy, \.otherSize, \.product, \.traps, \.mother?.name, \.mother?.mother, \.nine,
        ]
        for keyPath in cats { #expect(Cat.propertyName(of: keyPath) == nil, "\(keyPath)") }
        // Also after it was asked of its own class.
        #expect(Thing.propertyName(of: \Thing.title) == "title")
        #expect(Animal.propertyName(of: \Thing.title) == nil)
        #expect(Cat.propertyName(of: \String.count) == nil)
    }

    @Test func sortKeysAreOfStoredProperties() throws {
        #expect(try SortKey(\Thing.rank).path == ["rank"])
        let invalid = ObjectError(.invalidRequest, "")
        #expect(throws: invalid) { try SortKey(\Thing.name) }
        #expect(throws: invalid) { try SortKey(\Thing.capped) }
        #expect(throws: invalid) { try SortKey(\Thing.either) }
        #expect(throws: invalid) { try SortKey(\Thing.box?.name) }
        #expect(throws: invalid) { try SortKey(\Thing.isOpen) }
    }

    @Test func aGetterMayAskForANameItself() throws {
        #expect(Thing.propertyName(of: \Thing.sorted) == nil)
    }

    @Test func namesAreFoundByManyThreads() async {
        let keyPaths: [(PartialKeyPath<Thing> & Sendable, String?)] = [
            (\.title, "title"), (\.rank, "rank"), (\.stars, "stars"), (\.done, "done"),
            (\.either, nil), (\.capped, nil), (\.box, "box"), (\.ratio, "ratio"),
        ]
        await withTaskGroup(of: Bool.self) { group in
            for round in 0..<200 {
                let (keyPath, name) = keyPaths[round % keyPaths.count]
                group.addTask { Thing.propertyName(of: keyPath) == name }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
