import SyncReplica
import Varlink

/// The replicas of a store whose keys are known, as lines of text or as JSON.
enum MemberText {
    static func lines(_ members: [Member], names: KnownNames) -> [String] {
        var table = TextTable(styles: [.strong])
        for member in members {
            var remarks: [String] = []
            if member.isOwn { remarks.append("this replica") }
            if member.isRemoved { remarks.append("removed") }
            if member.isWaiting, !member.isRemoved { remarks.append("not admitted") }
            table.add(
                String(member.replica.description.prefix(8)),
                Printable.text(names[member.replica] ?? "no name known"),
                "key \(member.fingerprint)",
                "signs after \(member.signsAfter)", "up to \(member.number)",
                remarks.joined(separator: ", "))
        }
        return table.lines(on: .output)
    }

    static func json(_ member: Member, names: KnownNames) -> JSONObject {
        [
            "replica": .string(member.replica.description),
            "name": .text(names[member.replica]), "key": .string(member.fingerprint),
            "signsAfter": .integer(member.signsAfter), "number": .integer(member.number),
            "own": .bool(member.isOwn), "removed": .bool(member.isRemoved),
            "waiting": .bool(member.isWaiting),
        ]
    }

    /// Names the members that came with an exchange, once.
    /// - Throws: ``OutputClosed``.
    static func printNew(
        _ members: [Member], names: KnownNames, besides known: Set<ReplicaID>, path: String
    ) throws {
        for member in members where !member.isOwn && !known.contains(member.replica) {
            try Terminal.error.line(
                "  new member: replica "
                    + Printable.text(names.naming(member.replica.description))
                    + ", key \(member.fingerprint); all are "
                    + "listed by: synctool remote members \(Shell.quoted(path))")
        }
    }
}
