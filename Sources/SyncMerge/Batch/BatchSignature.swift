import SyncValues

/// What the envelope of a signed batch has beside that of version 1.
package struct BatchSignature: Sendable, Hashable {
    /// The bytes before the frame that nobody else can guess: with them the payload's hash, which
    /// is readable in a sealed batch, tells nothing about the content.
    static let saltBytes = 16

    /// The sender's key, its anchor at the end of the batch, and the link at the start.
    package let proof: SignerProof
    /// Bytes of the payload that is not sealed.
    let payloadBytes: Int
    /// SHA-256 of the payload that is not sealed.
    let payloadHash: [UInt8]
    /// The signature of all of the envelope; not of the seal, so that it is that of the opened
    /// batch, too.
    package let bytes: Signature
}
