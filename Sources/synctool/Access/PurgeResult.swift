/// The number of transactions and changes that a purge deleted.
struct PurgeResult: Sendable {
    let transactions: Int
    let changes: Int
}
