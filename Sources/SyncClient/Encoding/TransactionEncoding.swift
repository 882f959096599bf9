import SyncCore
import Varlink

/// Transactions as JSON, written without intermediate values: the one place that knows the shape
/// of `type Transaction` in ``StoreInterface``, for the wire and for `synctool --json` alike.
///
/// The documented keys are always there; `oldValues`, `cause`,
/// `incarnation`, `originNumber`, `originTimestamp` and `part` only where they have a value.
extension Transaction {
    /// One line of JSON, without the end of line.
    ///
    /// - Complexity: O(changes and their values).
    public var json: [UInt8] {
        var writer = JSONWriter(reserving: 256 + 128 * changes.count)
        writer.write(self)
        return writer.bytes
    }
}

extension JSONWriter {
    /// Writes a transaction.
    public mutating func write(_ transaction: Transaction) {
        beginObject()
        writeMembers(of: TransactionHead(transaction))
        name("flags")
        beginArray()
        if !transaction.flags.isEmpty {
            for flag in transaction.flags.names { write(string: flag) }
        }
        endArray()
        name("changes")
        beginArray()
        for change in transaction.changes { write(change) }
        endArray()
        if let origin = transaction.origin {
            name("originNumber")
            write(integer: origin.number)
            name("originTimestamp")
            write(string: origin.time.description)
        }
        if let part = transaction.part {
            name("part")
            beginObject()
            name("index")
            write(integer: Int64(part.index))
            name("isLast")
            write(bool: part.isLast)
            endObject()
        }
        endObject()
    }

    /// Number, token, time and writer: what a transaction and a notice about it (`type By`) share.
    package mutating func writeMembers(of head: TransactionHead) {
        name("number")
        write(integer: head.token.number)
        name("token")
        write(string: head.token.description)
        name("timestamp")
        write(string: head.timestamp.description)
        name("author")
        write(optional: head.author)
        name("context")
        write(optional: head.context)
        name("process")
        if let process = head.process {
            beginObject()
            name("pid")
            write(integer: process.pid)
            name("name")
            write(optional: process.name)
            endObject()
        } else {
            writeNull()
        }
        name("origin")
        write(string: head.origin?.description ?? "local")
    }

    /// Writes a change.
    public mutating func write(_ change: Change) {
        beginObject()
        name("entity")
        write(string: change.entity)
        name("object")
        write(string: change.object.path)
        name("kind")
        write(string: change.kind.name)
        name("properties")
        beginArray()
        for property in change.properties { write(string: property) }
        endArray()
        name("tombstone")
        if let tombstone = change.tombstone { write(tombstone) } else { writeNull() }
        if let oldValues = change.oldValues {
            name("oldValues")
            write(oldValues)
        }
        write(cause: change.cause)
        write(incarnation: change.object.incarnation)
        endObject()
    }

    /// Writes `cause` and its name, unless a statement named the object.
    mutating func write(cause: Change.Cause) {
        let kind: String
        var other: ObjectID?
        switch cause {
        case .direct: return
        case .cascade(let parent): (kind, other) = ("cascade", parent)
        case .replace: kind = "replace"
        case .renumbered(let object): (kind, other) = ("renumbered", object)
        case .merge: kind = "merge"
        }
        name("cause")
        beginObject()
        name("kind")
        write(string: kind)
        if let other {
            name("object")
            write(string: other.path)
            write(incarnation: other.incarnation)
        }
        endObject()
    }

    /// Writes `incarnation` and its name, unless the object was there before history.
    mutating func write(incarnation: Int64) {
        guard incarnation != 0 else { return }
        name("incarnation")
        write(integer: incarnation)
    }

    /// Writes values by property name.
    mutating func write(_ values: NamedValues) {
        beginObject()
        for pair in values.pairs {
            name(pair.name)
            write(pair.value)
        }
        for reference in values.references {
            name(reference.property)
            write(reference)
        }
        endObject()
    }

    /// Writes a string, or null.
    mutating func write(optional text: String?) {
        if let text { write(string: text) } else { writeNull() }
    }
}
