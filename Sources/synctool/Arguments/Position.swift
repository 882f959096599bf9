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
            self = .date(try Timestamp(option: option, value: value))
        }
    }

    /// - Throws: `unknownObject` when there is no transaction of the number; as history queries.
    func token(in store: Store) throws -> Token {
        switch self {
        case .token(let token): return token
        case .number(0): return Self.start(of: store)
        case .number(let number): return try store.transaction(number).token
        case .date(let date):
            var query = HistoryQuery()
            query.until = Timestamp(milliseconds: date.milliseconds + 1)
            query.reverse = true
            query.limit = 1
            return try store.history(query).first?.token ?? Self.start(of: store)
        }
    }

    /// Before the first transaction.
    private static func start(of store: Store) -> Token {
        Token(store: store.id, epoch: store.epoch, number: 0, time: Timestamp(milliseconds: 0))
    }
}
