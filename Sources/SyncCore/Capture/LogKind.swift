import SyncStorage
import SyncValues

/// What a row of `syncd_log` says (`docs/store-format.md` §1). `op` is entity * 8 + kind.
public enum LogKind: Int64, Sendable, Hashable, CaseIterable {
    case marker = 0
    case insert = 1
    case update = 2
    case delete = 3
    /// Deleted by REPLACE: no delete trigger saw it.
    case replace = 4
    /// A key update: old key, new key. Stands between a delete and an insert.
    case renumber = 5
    /// The next seven values of the row before it.
    case continued = 7

    package func op(_ entity: Int64) -> Int64 { entity * 8 + rawValue }
}
