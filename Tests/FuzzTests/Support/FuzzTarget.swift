import Foundation

/// A part of the product, and how arbitrary bytes reach it.
///
/// Bytes are never too odd: a target takes them as they are, or as choices (``FuzzChoices``) from
/// which it builds what only few bytes would be. The same bytes do the same each time. A trap, a
/// hang and a thrown ``Finding`` are defects of the product; everything else that it does with the
/// bytes is right.
struct FuzzTarget: Sendable {
    /// Its name for `Fuzz/run.sh`, and that of its folder in `Fuzz/corpus`.
    let name: String
    /// Longer inputs teach nothing more.
    let bytesMax: Int
    /// Whether an input is an exchange or a session with a daemon, of some 10 ms or more.
    var isSlow = false
    /// Runs one input.
    let run: @Sendable ([UInt8]) throws -> Void

    /// All targets.
    static let all: [FuzzTarget] = [
        FuzzTarget(name: "json", bytesMax: 4096, run: ParserTargets.json),
        FuzzTarget(name: "framing", bytesMax: 4096, run: ParserTargets.framing),
        FuzzTarget(name: "idl", bytesMax: 4096, run: ParserTargets.idl),
        FuzzTarget(name: "token", bytesMax: 1024, run: ParserTargets.token),
        FuzzTarget(name: "configuration", bytesMax: 4096, run: ConfigurationTarget.run),
        FuzzTarget(name: "argument", bytesMax: 256, run: ArgumentTarget.run),
        FuzzTarget(name: "predicate", bytesMax: 512, run: PredicateTarget.run),
        FuzzTarget(name: "policy", bytesMax: 1024, run: PolicyTarget.run),
        FuzzTarget(name: "schema", bytesMax: 1024, run: SchemaTarget.run),
        FuzzTarget(name: "batch", bytesMax: 4096, run: BatchTarget.run),
        FuzzTarget(name: "note", bytesMax: 2048, run: NoteTarget.run),
        FuzzTarget(name: "frame", bytesMax: 2048, run: FrameTarget.run),
        FuzzTarget(name: "page", bytesMax: 4096, run: PageTarget.run),
        FuzzTarget(name: "record", bytesMax: 1024, run: RecordTarget.run),
        FuzzTarget(name: "merge", bytesMax: 192, isSlow: true, run: MergeTarget.run),
        FuzzTarget(name: "tables", bytesMax: 128, isSlow: true, run: TablesTarget.run),
        FuzzTarget(name: "call", bytesMax: 256, isSlow: true, run: CallTarget.run),
    ]
}

/// What a target found wrong without a trap.
struct Finding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// - Throws: a ``Finding`` unless the condition holds.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw Finding(message()) }
}
