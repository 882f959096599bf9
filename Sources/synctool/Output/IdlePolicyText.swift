import SyncReplica
import Varlink

/// Policies of columns that have no effect, as lines of text or as JSON.
enum IdlePolicyText {
    /// Why a policy has no effect.
    static func line(_ idle: IdlePolicy) -> String {
        let column = Printable.text("\(idle.entity).\(idle.column)")
        guard let present = idle.present else {
            return "\(column): the policy \(idle.policy) has no effect: there is no such column"
        }
        return "\(column): the policy \(idle.policy) has no effect, \(present) holds: a key, a "
            + "UNIQUE, a CHECK or a foreign key uses the column"
    }

    static func json(_ idle: [IdlePolicy]) -> JSONValue {
        .array(
            idle.map { policy in
                .object([
                    "entity": .string(policy.entity), "column": .string(policy.column),
                    "policy": .string("\(policy.policy)"),
                    "present": .text(policy.present?.description),
                ])
            })
    }
}
