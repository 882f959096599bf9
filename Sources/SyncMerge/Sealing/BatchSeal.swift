import Crypto
import SyncValues

/// Encrypts the payload of a batch, and authenticates its envelope (docs/batch-format.md, Sealed
/// batches).
///
/// The nonce follows from key, envelope and payload: the same batch gives the same bytes, so that
/// sending it again changes nothing at the remote, and two contents never share a nonce.
package enum BatchSeal {
    private static let nonceBytes = 12

    /// The batch with its payload sealed.
    /// - Throws: `badData` for bytes that are not a complete batch, or are sealed already.
    /// - Complexity: O(bytes).
    package static func seal(_ batch: [UInt8], with key: StoreKey) throws -> [UInt8] {
        let (envelope, payload) = try BatchDecoder.parts(batch)
        guard envelope.key == nil else { throw SyncError(.badData, "the batch is sealed already") }
        let known = envelope.authenticated(by: key.id)
        var code = HMAC<SHA256>(key: key.subkey("syncd batch nonce"))
        code.update(data: known)
        code.update(data: envelope.payloadHash)
        do {
            let nonce = try ChaChaPoly.Nonce(data: Array(code.finalize().prefix(nonceBytes)))
            let box = try ChaChaPoly.seal(
                payload, using: key.subkey("syncd batch payload"), nonce: nonce,
                authenticating: known)
            let sealed = [UInt8](box.combined)
            return BatchEnvelope(envelope, payload: sealed, key: key.id).encoded() + sealed
        } catch {
            throw SyncError(.internalFault, "sealing a batch failed", underlying: error)
        }
    }

    /// The unencrypted batch; one that is not sealed is returned as it is.
    /// - Throws: `notAllowed` when the ring lacks the key; `badData` when bytes or envelope are
    ///   not what was sealed.
    /// - Complexity: O(bytes).
    package static func open(_ batch: [UInt8], with ring: KeyRing) throws -> [UInt8] {
        let (envelope, payload) = try BatchDecoder.parts(batch)
        guard let id = envelope.key else { return batch }
        guard let key = ring[id] else { throw missingKey(id) }
        guard payload.count >= BatchLimits.sealBytes else {
            throw SyncError(.badData, "the sealed payload is cut short")
        }
        do {
            let opened = [UInt8](
                try ChaChaPoly.open(
                    ChaChaPoly.SealedBox(combined: payload),
                    using: key.subkey("syncd batch payload"),
                    authenticating: envelope.authenticated(by: id)))
            return BatchEnvelope(envelope, payload: opened, key: nil).encoded() + opened
        } catch {
            throw SyncError(
                .badData, "the batch is not what was sealed with key \(id)", underlying: error)
        }
    }

    /// The error of a batch that cannot be opened because its key is missing.
    package static func missingKey(_ id: KeyID) -> SyncError {
        SyncError(
            .notAllowed, "batches are encrypted with key \(id), which this store does not have",
            hint: "On a replica that has the key run: synctool key share REPLICA > PACKET; "
                + "then here: synctool key import DB PACKET")
    }
}
