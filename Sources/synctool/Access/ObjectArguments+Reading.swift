import SyncCore

extension ObjectArguments {
    /// What was found of the object, and where.
    struct Found<Content> {
        let name: ObjectName
        let token: Token
        let content: Content
    }

    /// Reads the object at the position; without one, as it is now. What has to be known of a date
    /// goes to standard error.
    ///
    /// - Throws: `invalidArgument` for what is no object or position; as
    ///   ``LocalStore/with(_:_:)``; what `body` throws.
    func read<Content>(
        _ body: (Store, ObjectName, Token) throws -> Content
    ) throws -> Found<Content> {
        let name = try ObjectName(path: object)
        let position = try at.map { try Position(option: "--at", value: $0) }
        return try LocalStore.with(path) { store in
            let token = try position?.token(in: store) ?? store.head()
            let content = try body(store, name, token)
            if let note = try position?.note(in: store) {
                try Terminal.error.line("\(path): \(note)")
            }
            return Found(name: name, token: token, content: content)
        }
    }
}
