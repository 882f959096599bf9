import SyncMerge

/// The protocol of remotes as one suite of checks, to run against each kind of remote.
///
/// Each check makes its own empty remote of ``SimulatedReplica/store`` with `makeRemote`.
package struct RemoteConformance<Tested: Remote>: Sendable {
    /// What a remote stores.
    package enum Keeping: Sendable {
        /// The batches themselves, in any order.
        case batches
        /// Their transactions, because it is a store: batches come back divided differently, and
        /// one that starts after the last stored transaction is refused.
        case transactions
    }

    private let keeping: Keeping
    private let makeRemote: @Sendable () async throws -> Tested

    /// Tests remotes of one kind.
    package init(
        keeping: Keeping = .batches, _ makeRemote: @escaping @Sendable () async throws -> Tested
    ) {
        self.keeping = keeping
        self.makeRemote = makeRemote
    }

    /// Every check.
    /// - Throws: `SimulationFailure` when a check fails.
    package func run() async throws {
        try await anEmptyRemoteLeadsNowhere()
        try await appendedBatchesComeBackByteForByte()
        try await appendingAgainChangesNothing()
        try await theHeadStopsAtAHole()
        try await invalidBatchesAreRefused()
        try await acknowledgedVectorsComeBack()
        try await statedSumsComeBack()
    }

    private func anEmptyRemoteLeadsNowhere() async throws {
        let remote = try await makeRemote()
        try expect(try await remote.head().isEmpty, that: "an empty remote has an empty head")
        let catalog = try await remote.catalog(since: VersionVector())
        try expect(catalog.items.isEmpty && catalog.problems.isEmpty, that: "and an empty catalog")
    }

    private func appendedBatchesComeBackByteForByte() async throws {
        let remote = try await makeRemote()
        let (batches, vector) = try await chain(3)
        for batch in batches { try await remote.append(batch) }
        let catalog = try await remote.catalog(since: VersionVector())
        let path = catalog.path(since: VersionVector())
        var fetched: [[UInt8]] = []
        for item in path { fetched.append(try await remote.fetch(item)) }
        switch keeping {
        case .batches:
            try expect(fetched == batches, that: "batches come back in an order that can be merged")
        case .transactions:
            let got = try fetched.flatMap { try BatchDecoder.decode($0).transactions }
            let given = try batches.flatMap { try BatchDecoder.decode($0).transactions }
            try expect(got == given, that: "transactions come back in an order that can be merged")
        }
        try await aReceiverGetsAll(of: remote, upTo: vector)
        try expect(try await remote.head() == vector, that: "the head is where they lead")
    }

    private func appendingAgainChangesNothing() async throws {
        let remote = try await makeRemote()
        let (batches, _) = try await chain(2)
        for batch in batches + batches { try await remote.append(batch) }
        let catalog = try await remote.catalog(since: VersionVector())
        if keeping == .batches {
            try expect(catalog.items.count == 2, that: "a batch is stored once")
        }
        let path = catalog.path(since: VersionVector())
        let count = path.reduce(0) { $0 + $1.envelope.transactionCount }
        try expect(count == 2, that: "a transaction is stored once")
    }

    /// Includes a receiver that merges one batch at a time and requests the catalog each time.
    private func aReceiverGetsAll(
        of remote: Tested, upTo vector: VersionVector
    ) async throws {
        let peer = try SimulatedPeer("Z", schema: .notes)
        while let next = try await remote.catalog(since: await peer.vector)
            .path(since: await peer.vector).first
        {
            let isMerged = try await peer.merge(try await remote.fetch(next))
            try expect(isMerged, that: "what the catalog offers can be merged")
        }
        try expect(await peer.vector == vector, that: "and leads to the head")
    }

    private func acknowledgedVectorsComeBack() async throws {
        let remote = try await makeRemote()
        let (_, vector) = try await chain(1)
        let (a, b) = (SimulatedReplica.id("A"), SimulatedReplica.id("B"))
        try await remote.acknowledge(VersionVector(), of: b)
        try await remote.acknowledge(vector, of: a)
        try await remote.acknowledge(vector, of: b)
        let found = try await remote.acknowledged()
        try expect(found[a] == vector && found[b] == vector, that: "acknowledged vectors come back")
    }

    private func statedSumsComeBack() async throws {
        let remote = try await makeRemote()
        let (a, b) = (SimulatedReplica.id("A"), SimulatedReplica.id("B"))
        try await remote.noteSums([1], of: b)
        try await remote.noteSums([2, 3], of: a)
        try await remote.noteSums([4], of: b)
        let found = try await remote.notedSums()
        try expect(found[a] == [2, 3] && found[b] == [4], that: "stated sums come back")
    }

    private func theHeadStopsAtAHole() async throws {
        let remote = try await makeRemote()
        let (batches, _) = try await chain(3)
        switch keeping {
        case .batches: try await remote.append(batches[2])
        case .transactions:
            try await expectError(.refused) { try await remote.append(batches[2]) }
        }
        try await remote.append(batches[0])
        let head = try await remote.head()
        let first = try BatchEnvelope.read(batches[0]).envelope.upTo
        try expect(head == first, that: "the head stops at a hole")
        try await remote.append(batches[1])
        if keeping == .transactions { try await remote.append(batches[2]) }
        let last = try BatchEnvelope.read(batches[2]).envelope.upTo
        try expect(try await remote.head() == last, that: "and advances when the hole is filled")
    }

    private func invalidBatchesAreRefused() async throws {
        let remote = try await makeRemote()
        let batch = try await chain(1).batches[0]
        for bytes in [[], Array("hello".utf8), Array(batch.dropLast()), batch + [0]] {
            try await expectError(.badData) { try await remote.append(bytes) }
        }
        var foreign = try BatchDecoder.decode(batch)
        foreign.store = StoreID(String(repeating: "6", count: 32)) ?? foreign.store
        let bytes = try BatchEncoder.encode(foreign)
        try await expectError(.refused) { try await remote.append(bytes) }
        let catalog = try await remote.catalog(since: VersionVector())
        try expect(catalog.items.isEmpty, that: "a refused batch is not stored")
    }

    /// Batches of one transaction each, each continuing the one before.
    private func chain(_ count: Int) async throws -> (batches: [[UInt8]], upTo: VersionVector) {
        let peer = try SimulatedPeer("A", schema: .notes, slice: 1)
        for number in 0..<count {
            try await peer.transact("INSERT INTO note VALUES('k\(number)', 'text')")
        }
        return (try await peer.batches(since: VersionVector()), await peer.vector)
    }

    private func expect(_ isTrue: Bool, that promise: String) throws {
        if !isTrue { throw SimulationFailure("broken: \(promise)") }
    }

    private func expectError(
        _ code: SyncError.Code, from work: () async throws -> Void
    ) async throws {
        do {
            try await work()
        } catch let error as SyncError where error.code == code {
            return
        }
        throw SimulationFailure("broken: \(code) is thrown")
    }
}

extension SimulatedSchema {
    /// One table of texts by key: `note(name, body)`.
    package static let notes = SimulatedSchema(
        MergeSchema([
            MergeEntity(
                name: "note", columns: [.init("name", isRequired: true), .init("body")], key: [0],
                identity: .key)
        ]),
        tables: ["CREATE TABLE note(name TEXT PRIMARY KEY NOT NULL, body TEXT)"],
        roles: [[.text(choices: 3), .token]])
}
