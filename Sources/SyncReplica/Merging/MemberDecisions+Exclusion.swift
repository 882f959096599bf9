import SyncMerge
import SyncValues

extension MemberDecisions {
    /// Why others do not merge what a replica sends, in words for its own user.
    func exclusion(of own: ReplicaID) -> SyncError? {
        if let decision = bySubject[own], decision.kind == .removed {
            return SignatureFault.removedHere(own, by: decision.decider)
        }
        guard isClosed, !accepts(own), let decision = bySubject[MemberDecision.everyone] else {
            return nil
        }
        return SignatureFault.notAdmittedHere(own, by: decision.decider)
    }
}
