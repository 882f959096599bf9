import SyncCore
import Synchronization

/// Where the stores of workers are, by id, as far as a worker has said so a moment ago. A copied
/// file has the id of the other one.
final class KnownIDs: Sendable {
    /// Longer, and a store that was moved is not found where it is; shorter, and workers are asked
    /// for each call that names a store by its id.
    private static let ageMax = Duration.seconds(1)
    private static let countMax = 1_000

    private let known = Mutex<[StoreID: ExactMap<ContinuousClock.Instant>]>([:])

    func paths(of id: StoreID) -> [String] {
        let now = ContinuousClock.now
        return known.withLock { known in
            (known[id] ?? [:]).filter { $0.value > now }.keys.sorted()
        }
    }

    func note(_ id: StoreID, at path: String) {
        let now = ContinuousClock.now
        known.withLock { known in
            if known.count >= Self.countMax {
                known = known.compactMapValues { paths in
                    let young = paths.filter { $0.value > now }
                    return young.isEmpty ? nil : young
                }
            }
            known[id, default: [:]][path] = now + Self.ageMax
        }
    }
}
