import Foundation
import SyncObjects
import Synchronization

/// Teams, persons, jobs, notes and labels: a model that has every delete rule, a relationship of an
/// entity with itself, one-to-one, and many-to-many.
enum StaffModel {
    static func make() throws -> ManagedObjectModel {
        try ManagedObjectModel([
            EntityDescription(
                "Team", class: StaffTeam.self, attributes: [AttributeDescription("name")],
                relationships: [
                    .toMany("members", to: "Person", inverse: "team", deleteRule: .nullify),
                    .toMany("jobs", to: "Job", inverse: "team", deleteRule: .cascade),
                ]),
            EntityDescription(
                "Person", class: StaffPerson.self,
                attributes: [
                    AttributeDescription("name"), AttributeDescription("stamp", optional: true),
                ],
                relationships: [
                    .toOne("team", to: "Team", inverse: "members"),
                    .toOne("boss", to: "Person", inverse: "staff"),
                    .toMany("staff", to: "Person", inverse: "boss", deleteRule: .nullify),
                    .toMany("jobs", to: "Job", inverse: "owner", deleteRule: .deny),
                    .toMany("labels", to: "Label", inverse: "persons"),
                ]),
            EntityDescription(
                "Job", class: StaffJob.self, attributes: [AttributeDescription("name")],
                relationships: [
                    .toOne("team", to: "Team", inverse: "jobs"),
                    .toOne("owner", to: "Person", inverse: "jobs"),
                    .toOne("note", to: "Note", inverse: "job", deleteRule: .cascade),
                ]),
            EntityDescription(
                "Note", class: StaffNote.self, attributes: [AttributeDescription("name")],
                relationships: [.toOne("job", to: "Job", inverse: "note")]),
            EntityDescription(
                "Label", class: StaffLabel.self, attributes: [AttributeDescription("name")],
                relationships: [.toMany("persons", to: "Person", inverse: "labels")]),
        ])
    }
}

final class StaffTeam: ManagedObject, @unchecked Sendable {
    @Attribute("name") var name: String?
    @ToMany("members") var members: [StaffPerson]
    @ToMany("jobs") var jobs: [StaffJob]
}

final class StaffPerson: ManagedObject, @unchecked Sendable {
    /// Whom `willSave` gives another stamp.
    static let stamps = Mutex<Set<ManagedObjectID>>([])

    @Attribute("name") var name: String?
    @Attribute("stamp") var stamp: String?
    @ToOne("team") var team: StaffTeam?
    @ToOne("boss") var boss: StaffPerson?
    @ToMany("staff") var staff: [StaffPerson]
    @ToMany("jobs") var jobs: [StaffJob]
    @ToMany("labels") var labels: [StaffLabel]

    override func willSave() {
        guard Self.stamps.withLock({ $0.contains(objectID) }) else { return }
        stamp = UUID().uuidString
    }
}

final class StaffJob: ManagedObject, @unchecked Sendable {
    @Attribute("name") var name: String?
    @ToOne("team") var team: StaffTeam?
    @ToOne("owner") var owner: StaffPerson?
    @ToOne("note") var note: StaffNote?
}

final class StaffNote: ManagedObject, @unchecked Sendable {
    @Attribute("name") var name: String?
    @ToOne("job") var job: StaffJob?
}

final class StaffLabel: ManagedObject, @unchecked Sendable {
    @Attribute("name") var name: String?
    @ToMany("persons") var persons: [StaffPerson]
}
