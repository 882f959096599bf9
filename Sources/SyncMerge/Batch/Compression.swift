internal import CZstd
import SyncValues

/// zstd frames: one for each batch.
enum Compression {
    /// 3 is zstd's own default: three to four times smaller for rows, at some 200 MB/s. Higher
    /// levels gain a tenth and cost several times as much.
    static let level: Int32 = 3

    /// Compresses bytes to one frame.
    /// - Throws: `internalFault` when zstd has no memory.
    static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
        var failure: String?
        let frame = [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(bytes.count)) {
            buffer, count in
            let result = bytes.withUnsafeBytes {
                ZSTD_compress(
                    buffer.baseAddress, buffer.count, $0.baseAddress, $0.count, level)
            }
            failure = name(of: result)
            count = failure == nil ? result : 0
        }
        if let failure { throw SyncError(.internalFault, "zstd: \(failure)") }
        return frame
    }

    /// Opens a frame that holds exactly `count` bytes. Memory grows with what comes out, not with
    /// what the frame claims, and never beyond `count` and one window.
    /// - Throws: `badData` for anything else.
    static func decompress(_ frame: ArraySlice<UInt8>, count: Int) throws -> [UInt8] {
        guard let context = ZSTD_createDCtx() else {
            throw SyncError(.internalFault, "zstd has no memory")
        }
        defer { ZSTD_freeDCtx(context) }
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, BatchLimits.windowLog)
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: ZSTD_DStreamOutSize())
        try frame.withUnsafeBytes { source in
            var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
            var hint = 1
            repeat {
                let written = try chunk.withUnsafeMutableBytes { target in
                    var output = ZSTD_outBuffer(
                        dst: target.baseAddress, size: target.count, pos: 0)
                    hint = ZSTD_decompressStream(context, &output, &input)
                    if let failure = name(of: hint) {
                        throw SyncError(.badData, "the payload of the batch is damaged: \(failure)")
                    }
                    return output.pos
                }
                guard content.count + written <= count else {
                    throw SyncError(.badData, "the payload is larger than its envelope says")
                }
                content += chunk[..<written]
                guard hint == 0 || written > 0 || input.pos < input.size else {
                    throw SyncError(.badData, "the payload of the batch is cut short")
                }
            } while hint != 0
            guard input.pos == input.size else {
                throw SyncError(.badData, "the payload has a tail")
            }
        }
        guard content.count == count else {
            throw SyncError(.badData, "the payload is smaller than its envelope says")
        }
        return content
    }

    private static func name(of result: Int) -> String? {
        ZSTD_isError(result) == 0 ? nil : String(cString: ZSTD_getErrorName(result))
    }
}
