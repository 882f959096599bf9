import SyncObjects

/// What the staff of `StaffModel` should be: a model of objects and delete rules that is so simple
/// that it can be read.
struct StaffPicture: Equatable {
    struct Item: Equatable {
        let entity: String
        var name: String
        /// To-one relationships by name.
        var references: [String: Int] = [:]
    }

    /// By a number that the test gives.
    var items: [Int: Item] = [:]
    /// Person and label.
    var labels: [[Int]] = []

    /// A job whose owner is there no more: the deletion of the owner is denied.
    var isDenied: Bool {
        items.values.contains { $0.entity == "Job" && $0.references["owner"].map(isGone) == true }
    }

    private func isGone(_ number: Int) -> Bool { items[number] == nil }

    func numbers(_ entity: String) -> [Int] {
        items.filter { $0.value.entity == entity }.keys.sorted()
    }

    mutating func set(_ name: String, of number: Int, to target: Int?) {
        if name == "note" || name == "job" {
            return setNote(name == "job" ? target : number, name == "job" ? number : target)
        }
        items[number]?.references[name] = target
    }

    /// One-to-one: neither end has another one. The job's end is not kept.
    private mutating func setNote(_ job: Int?, _ note: Int?) {
        if let job {
            for (number, item) in items where item.references["job"] == job {
                items[number]?.references["job"] = nil
            }
        }
        if let note { items[note]?.references["job"] = job }
    }

    mutating func toggle(_ person: Int, _ label: Int) {
        if labels.contains([person, label]) {
            labels.removeAll { $0 == [person, label] }
        } else {
            labels = (labels + [[person, label]]).sorted { $0.lexicographicallyPrecedes($1) }
        }
    }

    mutating func delete(_ number: Int) {
        guard let item = items.removeValue(forKey: number) else { return }
        labels.removeAll { $0.contains(number) }
        for (other, value) in items {
            for (name, target) in value.references where target == number {
                let isCascade =
                    item.entity == "Team" && value.entity == "Job"
                    || item.entity == "Job" && value.entity == "Note"
                if isCascade {
                    delete(other)
                } else if name != "owner" {
                    items[other]?.references[name] = nil
                }
            }
        }
    }
}
