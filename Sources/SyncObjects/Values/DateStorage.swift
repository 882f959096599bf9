/// How a date is stored in its column.
public enum DateStorage: String, Sendable, Hashable {
    /// `2026-01-01 12:00:00.123` in UTC, as SQLite's own date functions read and write it.
    case text
    /// Seconds since 1970, a number.
    case unixSeconds
    /// Seconds since 2001, a number, as Core Data writes it.
    case referenceSeconds
}
