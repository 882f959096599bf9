import ArgumentParser

/// A duration as a user writes it: a number followed by a unit, `90s`, `12h`, `2 weeks`.
struct Lease: ExpressibleByArgument {
    private static let units: [(letter: Character, unit: TimeUnit)] = [
        ("d", .day), ("h", .hour), ("m", .minute), ("s", .second),
    ]

    let duration: Duration

    init(duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let (count, word) = TimeUnit.count(in: argument), let unit = TimeUnit(word)
        else { return nil }
        duration = .seconds(count * unit.rawValue)
    }

    /// The form that ``init(argument:)`` reads, in the largest unit without a remainder.
    var defaultValueDescription: String {
        let seconds = duration.components.seconds
        let found = Self.units.first {
            seconds >= $0.unit.rawValue && seconds % $0.unit.rawValue == 0
        }
        return found.map { "\(seconds / $0.unit.rawValue)\($0.letter)" } ?? "\(seconds)s"
    }
}
