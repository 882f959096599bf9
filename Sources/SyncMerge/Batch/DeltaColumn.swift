import SyncValues

/// A column of numbers that mostly ascend: each is written as the difference to the one before.
struct DeltaColumn {
    private(set) var writer = ByteWriter()
    private var last: Int64 = 0

    mutating func append(_ number: Int64) {
        writer.append(signed: number &- last)
        last = number
    }
}
