import SyncCore

/// Positions in ordered relationships: real numbers, so that a member moves without the others.
enum ListOrder {
    private static let step = 1024.0

    /// The position after the last one.
    static func after(_ last: Value) -> Value {
        guard case .real(let place) = last else { return .real(step) }
        return .real(place + step)
    }

    /// Places in increasing order for members that have `present` ones (or none): as many as
    /// possible keep theirs, so that concurrent moves in one list conflict as little as possible.
    ///
    /// - Complexity: O(n log n)
    static func places(_ present: [Value]) -> [Value] {
        let places = present.map { value -> Double? in
            if case .real(let place) = value { return place }
            return nil
        }
        var result = places
        let kept = longestIncrease(places)
        for index in result.indices where !kept.contains(index) { result[index] = nil }
        var index = 0
        while index < result.count {
            guard result[index] == nil else {
                index += 1
                continue
            }
            let start = index
            while index < result.count, result[index] == nil { index += 1 }
            let low = start > 0 ? result[start - 1] : nil
            let high = index < result.count ? result[index] : nil
            let count = Double(index - start)
            let first = low ?? (high.map { $0 - (count + 1) * step } ?? 0)
            let gap = high.map { ($0 - first) / (count + 1) } ?? step
            for offset in start..<index {
                result[offset] = first + gap * Double(offset - start + 1)
            }
        }
        let numbers = result.compactMap { $0 }
        let isSpread = zip(numbers, numbers.dropFirst()).allSatisfy { $1 - $0 > 1e-6 }
        guard isSpread else { return present.indices.map { .real(Double($0 + 1) * step) } }
        return numbers.map(Value.real)
    }

    /// The indices of a longest strictly increasing subsequence of places in a list.
    static func increasing(_ places: [Int]) -> Set<Int> { longestIncrease(places.map(Double.init)) }

    /// The indices of a longest strictly increasing subsequence.
    private static func longestIncrease(_ places: [Double?]) -> Set<Int> {
        var tails: [Int] = []
        var before: [Int: Int] = [:]
        for (index, place) in places.enumerated() {
            guard let place else { continue }
            var (low, high) = (0, tails.count)
            while low < high {
                let middle = (low + high) / 2
                if let tail = places[tails[middle]], tail < place {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            if low > 0 { before[index] = tails[low - 1] }
            if low == tails.count { tails.append(index) } else { tails[low] = index }
        }
        var kept: Set<Int> = []
        var next = tails.last
        while let index = next {
            kept.insert(index)
            next = before[index]
        }
        return kept
    }
}
