import SyncCore

/// A position in history as a user names it: the number of a transaction, a token, or a date, which
/// is the position after the last transaction up to it.
enum Position: Equatable {
    case number(Int64)
    case token(Token)
    case date(Timestamp)

    /// - Throws: `invalidArgument`, with the accepted forms.
    init(option: String, value: String) throws {
        let digits = value.hasPrefix("#") ? value.dropFirst() : value[...]
        if let number = Int64(digits), !value.hasPrefix("-") {
            self = .number(number)
        } else if let token = try? Token(value) {
            self = .token(token)
        } else {
            do {
                self = .date(try Timestamp(option: option, value: value))
            } catch var error as SyncError {
                error.reason = "\(option): '\(value)' is not a position in history"
                error.hint =
                    "Write the number of a transaction, a token, or a date: 12, 2026-01-31, 14:05, "
                    + "yesterday, -2h"
                throw error
            }
        }
    }

    /// - Throws: `unknownObject` when there is no transaction of the number; as history queries.
    func token(in store: Store) throws -> Token {
        switch self {
        case .token(let token): return token
        case .number(let number):
            if try number == 0 && store.beginning().purged == 0 { return Self.start(of: store) }
            return try Self.token(ofTransaction: number, in: store)
        case .date(let date):
            let beginning = try store.beginning()
            // Also where the clock of a writer was wrong: ``note(in:)`` says so.
            if beginning.purged == 0, date < beginning.tracked { return Self.start(of: store) }
            var query = HistoryQuery()
            query.until = Timestamp(milliseconds: date.milliseconds + 1)
            query.reverse = true
            query.limit = 1
            if let token = try store.history(query).first?.token { return token }
            guard beginning.purged == 0 else {
                throw try Self.purged("what was before \(LocalTime.text(date))", in: store)
            }
            return Self.start(of: store)
        }
    }

    /// - Throws: `unknownObject` when there is no transaction of the number; `historyExpired` when
    ///   it was purged; as history queries.
    static func token(ofTransaction number: Int64, in store: Store) throws -> Token {
        let purged = try store.beginning().purged
        guard number > purged || purged == 0 else {
            throw try Self.purged("transaction \(number)", in: store)
        }
        return try store.transaction(number).token
    }

    /// What a user has to know of a date before the beginning of the history; nil: it is later.
    /// - Throws: as history queries.
    func note(in store: Store) throws -> String? {
        guard case .date(let date) = self else { return nil }
        let tracked = try store.beginning().tracked
        guard date < tracked else { return nil }
        return "the history begins at \(LocalTime.text(tracked)), when the database was tracked: "
            + "this is the state of then"
    }

    private static func purged(_ what: String, in store: Store) throws -> SyncError {
        let first = try store.beginning().first.map { "#\($0.number)" } ?? "nothing"
        return SyncError(
            .historyExpired, "\(what) was purged: the history begins with \(first)",
            hint: "Use a later position: synctool history DB")
    }

    /// Before the first transaction.
    private static func start(of store: Store) -> Token {
        Token(store: store.id, epoch: store.epoch, number: 0, time: Timestamp(milliseconds: 0))
    }
}
