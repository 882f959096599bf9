import ArgumentParser

/// A duration as a user writes it: a number followed by s, m, h or d.
struct Lease: ExpressibleByArgument {
    private static let units: [(letter: Character, seconds: Int64)] = [
        ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1),
    ]

    let duration: Duration

    init(duration: Duration) { self.duration = duration }

    init?(argument: String) {
        guard let letter = argument.last,
            let unit = Self.units.first(where: { $0.letter == letter }),
            let count = Int64(argument.dropLast()), count > 0, count < 1_000_000
        else { return nil }
        duration = .seconds(count * unit.seconds)
    }

    /// The form that ``init(argument:)`` reads, in the largest unit without a remainder.
    var defaultValueDescription: String {
        let seconds = duration.components.seconds
        let unit = Self.units.first { seconds >= $0.seconds && seconds % $0.seconds == 0 }
        return unit.map { "\(seconds / $0.seconds)\($0.letter)" } ?? "\(seconds)s"
    }
}
