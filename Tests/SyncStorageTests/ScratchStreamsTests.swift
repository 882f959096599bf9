import Foundation
import SyncTesting
import SyncValues
import Testing

@testable import SyncStorage

/// Streams of bytes that do not stay in memory.
@Suite("Scratch streams")
struct ScratchStreamsTests {
    @Test(
        "each stream is read as it was written, in memory and in a file",
        arguments: [1, 64, 1 << 20])
    func streams(memoryMax: Int) throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        var streams = ScratchStreams(memoryMax: memoryMax)
        var expected: [[UInt8]] = Array(repeating: [], count: 7)
        for _ in 0..<500 {
            let stream = Int.random(in: 0..<7, using: &random)
            let bytes = (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            expected[stream] += bytes
            try bytes.withUnsafeBytes { try streams.append($0, to: stream) }
        }
        for (stream, bytes) in expected.enumerated() {
            #expect(try streams.bytes(of: stream) == bytes, "\(seed)")
        }
        #expect(try streams.bytes(of: 7).isEmpty)
    }

    @Test("a copy that is only read has what was there")
    func copies() throws {
        var streams = ScratchStreams(memoryMax: 2)
        try [1, 2, 3].withUnsafeBytes { try streams.append($0, to: 0) }
        let copy = streams
        try [UInt8(9)].withUnsafeBytes { try streams.append($0, to: 0) }
        #expect(try copy.bytes(of: 0).count == 3 * MemoryLayout<Int>.size)
    }

    @Test("the file has no name, and is its user's alone", arguments: [false, true])
    func noName(isUnlinked: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("temporary")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let descriptor =
            isUnlinked ? ScratchFile.unlinked(in: path) : ScratchFile.unnamed(in: path)
        #expect(descriptor >= 0, "\(String(cString: strerror(errno)))")
        defer { close(descriptor) }
        var status = stat()
        #expect(fstat(descriptor, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600)
        #expect(status.st_nlink == 0)
        #expect(fcntl(descriptor, F_GETFD) == FD_CLOEXEC)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
    }

    @Test("there is none in a folder that is not there")
    func noFolder() throws {
        let folder = try TemporaryFolder()
        #expect(ScratchFile.unnamed(in: folder.file("missing")) == -1)
        #expect(ScratchFile.unlinked(in: folder.file("missing")) == -1)
    }
}
