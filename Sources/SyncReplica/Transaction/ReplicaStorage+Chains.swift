import SyncMerge
import SyncValues

/// The chains of signed transactions, from the stored links and headers.
extension ReplicaStorage {
    /// The link of a replica's chain at a number that is not below its base.
    /// - Parameter known: a link to start from.
    /// - Throws: SQLite errors, `corrupt`.
    /// - Complexity: O(transactions since the anchor before)
    func link(
        of signer: Signer, at number: Int64, from known: ChainLink? = nil
    ) throws -> ChainLink {
        let anchor = try signers.anchor(of: signer.replica, upTo: number)?.link
        let nearest = [signer.base, anchor, signer.link, known].compactMap { $0 }
            .filter { $0.number <= number }.max { $0.number < $1.number }
        guard let nearest else {
            throw SyncError(.internalFault, "a chain is asked for before its base")
        }
        return nearest.following(
            try headers.headers(of: signer.replica, after: nearest.number, upTo: number))
    }

    /// Moves the bases to a cut, before headers up to it are dropped.
    /// - Throws: SQLite errors, `corrupt`.
    /// - Complexity: O(transactions up to the cut)
    func moveBases(to cut: VersionVector) throws {
        for var signer in try signers.all().values {
            let number = cut[signer.replica]
            guard number > signer.base.number, signer.link != nil else { continue }
            signer.base = try link(of: signer, at: number)
            if let link = signer.link, link.number < signer.base.number {
                signer.link = signer.base
            }
            try signers.write(signer)
        }
    }
}
