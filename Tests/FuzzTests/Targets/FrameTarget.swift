import Foundation
import SyncTesting

@testable import SyncMerge
@testable import SyncRemotes
@testable import SyncValues

/// Both ends of an `ssh:` remote: bytes as requests to the server of a store, and as the answers
/// that a client gets.
enum FrameTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        let kind = choices.byte() % 5
        let rest = choices.rest
        switch kind {
        case 0:
            if let request = try refusing("request", { try ServeRequest(rest) }) {
                try require(
                    try ServeRequest(request.encoded()) == request,
                    "a request does not read the same")
            }
        case 1:
            if let answer = try refusing("answer", { try ServeAnswer(rest) }) {
                let again = try refusing("answer") { try ServeAnswer(answer.encoded()).encoded() }
                // An error with an unknown code reads as another one.
                if case .failure = answer { return }
                try require(again == answer.encoded(), "an answer does not read the same")
            }
        case 2: _ = ServeGreeting.version(in: Array(rest.prefix(200)))
        case 3: try serve(frames(&choices))
        default: try listen(rest)
        }
    }

    /// Frames whose lengths are right, of requests that are mostly right.
    private static func frames(_ choices: inout FuzzChoices) -> [UInt8] {
        var stream: [UInt8] = []
        while !choices.isAtEnd, stream.count < 4096 {
            let body: [UInt8]
            let vector = VersionVector([Dot(ReplicaID(high: 1, low: 0), choices.number())])
            switch choices.byte() % 10 {
            case 0: body = ServeRequest.catalog(vector).encoded()
            case 1: body = ServeRequest.head.encoded()
            case 2: body = ServeRequest.fetch(choices.text()).encoded()
            case 3: body = ServeRequest.append(choices.some(choices.below(64))).encoded()
            case 4:
                body = ServeRequest.acknowledge(ReplicaID(high: 1, low: 0), vector).encoded()
            case 5: body = ServeRequest.acknowledged.encoded()
            case 6:
                body = ServeRequest.noteSums(
                    ReplicaID(high: 1, low: 0), choices.some(choices.below(64))
                ).encoded()
            case 7: body = ServeRequest.notedSums.encoded()
            default: body = choices.some(choices.below(64))
            }
            let length = choices.byte() == 255 ? UInt32(choices.byte()) << 24 : UInt32(body.count)
            stream += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> UInt32($0)) } + body
        }
        return stream
    }

    /// A server answers until its client has gone.
    private static func serve(_ stream: [UInt8]) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }
        _ = Glibc.write(ends[1], stream, stream.count)
        close(ends[1])
        let output = open("/dev/null", O_WRONLY | O_CLOEXEC)
        let done = DispatchSemaphore(value: 0)
        let input = ends[0]
        Task.detached {
            let peer = try SimulatedPeer("a", schema: .notes)
            await (try StoreServer(peer)).run(input: input, output: output)
            done.signal()
        }
        let end = done.wait(timeout: .now() + 20)
        close(input)
        close(output)
        try require(end == .success, "the server did not end with its client")
    }

    /// A client reads what a server sends.
    private static func listen(_ stream: [UInt8]) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }
        _ = Glibc.write(ends[1], stream, stream.count)
        close(ends[1])
        defer { close(ends[0]) }
        let channel = FrameChannel(input: ends[0], output: -1)
        do {
            _ = try channel.line(limit: 512, by: .now + .seconds(5), timeout: .seconds(5))
            for _ in 0..<64 { _ = try ServeAnswer(channel.read(timeout: .seconds(5))) }
        } catch is FrameChannel.Failure {
            return
        } catch is SyncError {
            return
        }
    }
}
