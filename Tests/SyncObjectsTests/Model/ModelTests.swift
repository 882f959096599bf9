import Foundation
import SyncMerge
import Testing

@testable import SyncObjects

@Suite struct ModelTests {
    @Test func attributeInitHasTheDefaultsOfItsArticle() throws {
        let name = AttributeDescription("name")
        #expect(name.type == .string)
        #expect(!name.isOptional)
        #expect(name.defaultValue == .null)
        #expect(name.renamingIdentifier == "name")
    }

    @Test func entityNameIsTheLastPartOfTheClassName() {
        final class ShopModel: EntityObject {}
        #expect(ShopModel.entityName() == "ShopModel")
        #expect(EntityDescription(class: ShopModel.self).name == "ShopModel")
    }

    @Test func everyContradictionIsReported() throws {
        let error = #expect(throws: ObjectError.self) {
            try ManagedObjectModel([
                EntityDescription(
                    "A", parent: "Nobody",
                    attributes: [AttributeDescription("x", .integer16, default: 70_000)]),
                EntityDescription(
                    "B",
                    attributes: [
                        AttributeDescription("x", .integer16, default: "seven"),
                        AttributeDescription("x"), AttributeDescription("t", .transformable),
                        .derived("d", .integer64, from: "tasks.@sum.a.b"),
                    ],
                    relationships: [
                        .toOne("other", to: "Nowhere"), .toOne("a", to: "A", inverse: "b"),
                    ], constraints: [["missing"]]),
            ])
        }
        #expect(error?.code == .invalidModel)
        #expect(error?.details.count == 8, "\(error?.description ?? "")")
    }

    @Test func middleOperatorCannotBeDerived() {
        #expect(throws: ObjectError(.invalidModel, "")) { try DerivedExpression("a.@sum.b") }
        #expect(throws: Never.self) { try DerivedExpression("tasks.priority.@sum") }
    }

    @Test func equalModelsHaveEqualHashes() throws {
        let one = try TodoModel.make()
        let two = try TodoModel.make()
        #expect(one.versionHash == two.versionHash)
        #expect(one.diff(two).isEmpty)
        #expect(one.isCompatible(with: two))
        var entities = TodoModel.entities()
        entities[1].attributes.append(AttributeDescription("due", .date, optional: true))
        let changed = try ManagedObjectModel(entities)
        #expect(changed.versionHash != one.versionHash)
        #expect(!changed.isCompatible(with: one))
        #expect(changed.entityVersionHashes["C_Group"] == one.entityVersionHashes["C_Group"])
        #expect(changed.diff(one).description == "C_Task.due: added")
        entities = TodoModel.entities()
        entities[0].versionHashModifier = "2"
        #expect(try ManagedObjectModel(entities).versionHash != one.versionHash)
    }

    @Test func archiveKeepsTheModel() throws {
        let model = try TodoModel.make(ordered: true)
        let copy = try ModelArchive.model(try ModelArchive(model).text())
        #expect(copy.versionHash == model.versionHash)
        #expect(copy.layouts["C_Group"]?.slot("title")?.defaultValue == .text("New Group"))
    }

    @Test func oneToOneReferenceStandsBesideWhatIsCascaded() throws {
        let model = try TodoModel.make()
        #expect(model.layouts["C_Task"]?.slotIndex["memo"] == nil)
        #expect(model.layouts["C_Memo"]?.slotIndex["task"] != nil)
    }

    @Test func slotsOfAParentAreThoseOfItsChildren() throws {
        let model = try ManagedObjectModel([
            EntityDescription(
                "Grandchild", parent: "Child", attributes: [AttributeDescription("c")]),
            EntityDescription("Child", parent: "Base", attributes: [AttributeDescription("b")]),
            EntityDescription("Sibling", parent: "Base", attributes: [AttributeDescription("b")]),
            EntityDescription("Base", attributes: [AttributeDescription("a")]),
        ])
        let base = try model.entity("Base")
        for layout in try ["Child", "Grandchild"].map(model.entity) {
            #expect(layout.slots[0].name == base.slots[0].name)
            #expect(layout.slots[1].name == "b")
        }
        #expect(base.family == ["Base", "Child", "Sibling", "Grandchild"])
        #expect(base.table.columns.map(\.name) == ["a", "Child_b", "Sibling_b", "c"])
    }

    @Test func compositesAreColumnsOfTheirOwn() throws {
        let model = try ManagedObjectModel([
            EntityDescription(
                "Person",
                composites: [
                    CompositeDescription(
                        "address", attributes: [AttributeDescription("street")],
                        composites: [
                            CompositeDescription("geo", attributes: [AttributeDescription("lat")])
                        ])
                ])
        ])
        let person = try model.entity("Person")
        #expect(person.attributeNames == ["address.street", "address.geo.lat"])
        #expect(person.table.columns.map(\.name) == ["address_street", "address_geo_lat"])
    }

    @Test func configurationLeavesOthersOut() throws {
        var entities = TodoModel.entities()
        entities.append(EntityDescription("Log"))
        entities[3].configurations = ["local"]
        for index in 0..<3 { entities[index].configurations = ["cloud"] }
        let model = try ManagedObjectModel(entities)
        #expect(try model.restricted(to: "local").entities.map(\.name) == ["Log"])
        entities[2].configurations = ["local"]
        let crossing = try ManagedObjectModel(entities)
        #expect(throws: ObjectError(.invalidModel, "")) { try crossing.restricted(to: "cloud") }
    }
}
