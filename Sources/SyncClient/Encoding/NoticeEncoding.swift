import SyncCore
import Varlink

extension Notice {
    /// One line of JSON, without the end of line: a transaction as in history, and
    /// `{"gone":{…}}`, `{"lagged":{…}}` and so on for the others.
    public var json: [UInt8] {
        var writer = JSONWriter()
        if case .transaction(let transaction) = self {
            writer.write(transaction)
        } else {
            writer.write(self)
        }
        return writer.bytes
    }

    /// The key that names the kind of notice in JSON.
    var key: String {
        switch self {
        case .began: "began"
        case .transaction: "transaction"
        case .gone: "gone"
        case .changed: "changed"
        case .replaced: "replaced"
        case .lagged: "lagged"
        case .storeReplaced: "storeReplaced"
        case .storeRemoved: "storeRemoved"
        case .storeReturned: "storeReturned"
        case .schemaChanged: "schemaChanged"
        case .historyPurged: "historyPurged"
        }
    }
}

extension JSONWriter {
    /// Writes a notice as an object with one member, named by its kind.
    public mutating func write(_ notice: Notice) {
        beginObject()
        name(notice.key)
        switch notice {
        case .transaction(let transaction): write(transaction)
        case .gone(let gone): write(gone)
        case .changed(let changed): write(changed)
        case .replaced(let replaced): write(replaced)
        default:
            beginObject()
            writeMembers(of: notice)
            endObject()
        }
        endObject()
    }

    private mutating func writeMembers(of notice: Notice) {
        switch notice {
        case .began(let token), .lagged(let token), .historyPurged(let token):
            member("token", text: token.description)
        case .storeReplaced(let path, let store, let token):
            member("path", text: path)
            member("store", text: store.description)
            member("token", text: token.description)
        case .storeRemoved(let path, let reason):
            member("path", text: path)
            if let reason { member("reason", text: reason) }
        case .storeReturned(let path, let token):
            member("path", text: path)
            member("token", text: token.description)
        case .schemaChanged(let entities):
            name("entities")
            beginArray()
            for entity in entities { write(string: entity) }
            endArray()
        case .transaction, .gone, .changed, .replaced: break
        }
    }

    private mutating func write(_ gone: Notice.Gone) {
        beginObject()
        write(object: gone.object)
        name("tombstone")
        if let tombstone = gone.tombstone { write(tombstone) } else { writeNull() }
        write(cause: gone.cause)
        write(by: gone.by)
        endObject()
    }

    private mutating func write(_ changed: Notice.Changed) {
        beginObject()
        write(object: changed.object)
        name("properties")
        beginArray()
        for property in changed.properties { write(string: property) }
        endArray()
        if let oldValues = changed.oldValues {
            name("oldValues")
            write(oldValues)
        }
        write(by: changed.by)
        endObject()
    }

    private mutating func write(_ replaced: Notice.Replaced) {
        beginObject()
        write(object: replaced.object)
        write(by: replaced.by)
        endObject()
    }

    private mutating func write(object: ObjectID) {
        member("object", text: object.path)
        write(incarnation: object.incarnation)
    }

    private mutating func write(by head: TransactionHead?) {
        guard let head else { return }
        name("by")
        beginObject()
        writeMembers(of: head)
        endObject()
    }

    /// Writes a member whose value is a string.
    mutating func member(_ name: String, text: String) {
        self.name(name)
        write(string: text)
    }
}
