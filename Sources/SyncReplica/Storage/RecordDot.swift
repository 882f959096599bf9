/// A transaction, its replica by its number in `syncd_replica`.
struct RecordDot: Hashable {
    var replica: Int64 = 0
    var number: Int64 = 0
}
