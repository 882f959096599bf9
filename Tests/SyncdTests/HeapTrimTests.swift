import CLinux
import Testing

@testable import syncd

/// A daemon is small again after work that took memory.
@Suite("Memory after work", .serialized) struct HeapTrimTests {
    private static let idle = Duration.milliseconds(10)

    private func look(_ trim: HeapTrim, at megabytes: UInt64, after time: Duration) -> Bool {
        trim.look(.init(privateBytes: megabytes << 20, processorTime: time))
    }

    @Test func trimsWhenGrownAndIdle() {
        let trim = HeapTrim { 50 << 20 }
        #expect(!look(trim, at: 40, after: Self.idle))
        #expect(!look(trim, at: 43, after: Self.idle * 2), "it has hardly grown")
        #expect(!look(trim, at: 90, after: .seconds(3)), "it is busy")
        #expect(look(trim, at: 90, after: .seconds(3) + Self.idle))
    }

    @Test func trimsAgainForWhatWasInUse_butNotAtOnce() {
        let trim = HeapTrim { 80 << 20 }
        #expect(!look(trim, at: 40, after: Self.idle))
        #expect(look(trim, at: 90, after: Self.idle))
        #expect(!look(trim, at: 80, after: Self.idle))
        #expect(!look(trim, at: 80, after: Self.idle))
        #expect(look(trim, at: 80, after: Self.idle), "what was in use may be holes by now")
        for _ in 0..<3 { #expect(!look(trim, at: 43, after: Self.idle), "it is small again") }
    }

    @Test func returnsTheHolesOfTheHeap() {
        let trim = HeapTrim()
        // Holes that other tests left would be filled first. Those that run now take and free, too.
        syncd_trim_memory()
        let before = syncd_private_bytes()
        #expect(before > 1 << 20, "its own pages are known")
        trim.look(.init(privateBytes: before, processorTime: .zero))
        // 64 MiB of small blocks, of which every hundredth stays: no heap can be cut at its end.
        var blocks = (0..<131_072).map { index in
            let block = UnsafeMutableRawPointer.allocate(byteCount: 500, alignment: 16)
            block.storeBytes(of: index, as: Int.self)
            return block
        }
        for index in blocks.indices where index % 100 != 0 { blocks[index].deallocate() }
        let grown = syncd_private_bytes()
        #expect(grown > before + (40 << 20))
        #expect(trim.look(.init(privateBytes: grown, processorTime: .zero)))
        #expect(syncd_private_bytes() < grown - (24 << 20))
        for index in blocks.indices where index % 100 == 0 { blocks[index].deallocate() }
        blocks = []
    }
}
