import SyncValues

/// Writes batches. The same batch gives the same bytes.
package enum BatchEncoder {
    /// The batch as bytes: envelope, check, compressed content.
    /// - Parameter key: the sender's; with it a batch that has the sender's proof is signed
    ///   (version 2). Without it goal, sums, proofs and names are left out (version 1).
    /// - Throws: `invalidArgument` when the batch is beyond ``BatchLimits``: cut it into slices.
    /// - Complexity: O(n log n) in the facts.
    package static func encode(_ batch: Batch, signing key: SigningKey? = nil) throws -> [UInt8] {
        guard let key, batch.proofs[batch.sender] != nil else {
            let content = try content(of: batch)
            let payload = try Compression.compress(content)
            let envelope = BatchEnvelope(batch, contentBytes: content.count, payload: payload)
            return envelope.encoded() + payload
        }
        let content = try content(of: batch, withProofs: true)
        let frame = try Compression.compress(content)
        let payload = key.salt(for: frame) + frame
        let envelope = try BatchEnvelope(
            signing: batch, contentBytes: content.count, payload: payload, with: key)
        return envelope.encoded() + payload
    }

    /// The content before compression.
    /// - Parameter withProofs: as in a signed batch.
    /// - Throws: `invalidArgument` when the batch is beyond ``BatchLimits``.
    package static func content(
        of batch: Batch, withProofs: Bool = false
    ) throws -> [UInt8] {
        let tables = BatchTables(batch)
        var content = ByteWriter()
        tables.write(to: &content)
        TransactionColumns.write(batch.transactions, tables: tables, to: &content)
        FactColumns.write(batch, tables: tables, to: &content)
        if !batch.extras.isEmpty { ExtrasColumns.write(batch.extras, tables: tables, to: &content) }
        if batch.sendsNames(isSigned: withProofs) { NameColumns.write(batch.names, to: &content) }
        if withProofs, !batch.forwardedProofs.isEmpty { ProofColumns.write(batch, to: &content) }
        if withProofs, !batch.replicaNames.isEmpty {
            ReplicaNameColumns.write(batch.replicaNames, to: &content)
        }
        if withProofs, !batch.decisions.isEmpty {
            DecisionColumns.write(batch.decisions, to: &content)
        }
        if withProofs { BatchSections.write(batch, to: &content) }
        let isWithin =
            batch.transactions.count <= BatchLimits.transactionsMax
            && batch.factCount <= BatchLimits.factsMax
            && tables.objects.count <= BatchLimits.factsMax
            && batch.transactions.reduce(0) { $0 + $1.changes.count } <= BatchLimits.factsMax
            && content.bytes.count <= BatchLimits.contentBytesMax
        guard isWithin else {
            throw SyncError(
                .refused,
                "what a member that was away has to get at once, or a transaction of an older "
                    + "version, is larger than a batch may be: 256 MiB of values, 4 million facts",
                hint: "Neither it nor what follows it can be sent. To go on without its history, "
                    + "make the database a new replica: synctool untrack DB, synctool track DB, "
                    + "synctool remote add DB NAME URL --join by-key")
        }
        return content.bytes
    }
}
