import Foundation
import SyncMerge

/// A folder as a remote: a network mount, or a folder that a file syncer copies between machines.
///
/// Invariants
/// - A replica writes and removes files only in its own subfolder. No two machines write the same
///   file, so a file syncer never has a conflict.
/// - The file of a batch never changes: its name is derived from its content.
/// - File contents are not trusted: files that are truncated (still being copied), damaged,
///   foreign, copied or renamed are skipped and reported. They count again once they are intact.
/// - ``create(_:store:)`` makes a folder a remote, once. A folder without the marker file is
///   treated as missing (not mounted, deleted): nothing is written into it.
package struct DirectoryRemote: Remote {
    private static let headBytes = BatchLimits.envelopeBytesMax + 64
    private static let fileBytesMax = BatchLimits.contentBytesMax + headBytes

    /// An older temporary file was left behind by a process that was killed.
    private static let temporaryAgeMax: Duration = .seconds(3600)

    /// The folder.
    package let path: String
    private let store: StoreID
    private let replica: ReplicaID

    private var files: FolderFiles { FolderFiles(path) }

    /// Opens a folder on behalf of a replica.
    /// - Throws: `unreachable` when it does not exist or is not a remote; `notAllowed` when it may
    ///   not be read; `refused` when it is a remote of another store.
    package init(_ path: String, store: StoreID, replica: ReplicaID) throws {
        self.path = path
        self.store = store
        self.replica = replica
        try checkMarker()
    }

    /// Makes an existing folder a remote of a store. A folder that already is one is unchanged.
    /// - Throws: `unreachable` when the folder does not exist; `refused` when it is a remote of
    ///   another store; `notAllowed`, `diskFull` when it cannot be read, or the marker not written.
    package static func create(_ path: String, store: StoreID) throws {
        if try isNew(path) {
            try FolderFiles(path).write(
                Array(DirectoryLayout.markerText(store).utf8), to: DirectoryLayout.marker,
                temporaryPrefix: DirectoryLayout.temporaryPrefix)
        }
        _ = try DirectoryRemote(path, store: store, replica: observer)
    }

    /// The replica of a connection that only reads: it has no subfolder.
    package static let observer: ReplicaID = {
        guard let none = ReplicaID(String(repeating: "0", count: 32)) else {
            preconditionFailure("an identifier is 32 hexadecimal digits")
        }
        return none
    }()

    private func checkMarker() throws {
        let other = try Self.store(of: path)
        guard other == store else {
            throw SyncError(
                .refused, "the folder is a remote of another store", path: path,
                hint:
                    "Look whether the right folder is mounted there. Else use another one, or join "
                    + "that store (\(other)): "
                    + "synctool remote add DB NAME \(Shell.quoted("dir:" + path)) --join by-key")
        }
    }

    // MARK: Remote

    package var keepsBatches: Bool { true }

    /// The batches that a receiver can fetch.
    /// - Throws: `unreachable`, `refused` when the folder is no longer a remote of the store.
    /// - Complexity: O(n) in the batch files: reads the envelope of each.
    package func catalog(since: VersionVector) async throws -> BatchCatalog { try catalog() }

    /// How far the batches lead a receiver that has merged nothing.
    /// - Throws: `unreachable`, `refused` when the folder is no longer a remote of the store.
    /// - Complexity: O(n²) in the batch files: reads the envelope of each.
    package func head() async throws -> VersionVector {
        try catalog().reach(since: VersionVector())
    }

    /// How far the batches lead that the members accept.
    /// - Throws: as ``head()``.
    /// - Complexity: as ``head()``.
    package func head(for members: Membership) async throws -> VersionVector {
        try catalog().reach(since: VersionVector(), for: members)
    }

    /// The same, with what cannot be read.
    /// - Throws: as ``head()``.
    /// - Complexity: as ``head()``.
    package func survey(
        for members: Membership, knowing known: VersionVector
    ) async throws -> RemoteHead {
        RemoteHead(try catalog(), for: members, knowing: known)
    }

    /// The bytes of a batch.
    /// - Throws: `unreachable` when the file no longer exists; `badData` when it is too large.
    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try checkMarker()
        return try files.read(item.name, limit: Self.fileBytesMax)
    }

    /// Adds a batch.
    /// - Throws: `badData`, `refused` for another batch than one of the store; `unreachable`,
    ///   `notAllowed`, `diskFull` when it cannot be written.
    package func append(_ batch: [UInt8]) async throws {
        try checkMarker()
        let envelope = try BatchDecoder.verify(batch)
        guard envelope.store == store else {
            throw SyncError(.refused, "the batch belongs to another store", path: path)
        }
        let folder = DirectoryLayout.folder(of: replica)
        try files.makeFolder(folder)
        let file = folder + "/" + DirectoryLayout.name(of: envelope)
        if let (bytes, _) = files.head(of: file, limit: batch.count + 1), bytes == batch { return }
        try files.write(batch, to: file, temporaryPrefix: DirectoryLayout.temporaryPrefix)
    }

    /// Records what a replica has merged.
    /// - Throws: `unreachable`, `notAllowed`, `diskFull` when it cannot be written.
    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        try checkMarker()
        try write(vector, as: DirectoryLayout.merged, of: replica)
    }

    /// The vectors that replicas have acknowledged.
    /// - Throws: `unreachable`, `refused` when the folder is no longer a remote of the store.
    /// - Complexity: O(n) in the replicas: reads a file of each.
    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try checkMarker()
        return notes(named: DirectoryLayout.merged)
    }

    /// Requests a snapshot, or withdraws the request.
    /// - Throws: `unreachable`, `notAllowed`, `diskFull` when it cannot be written.
    package func requestSnapshot(covering collected: VersionVector) async throws {
        try checkMarker()
        if collected.isEmpty {
            let folder = DirectoryLayout.folder(of: replica)
            try files.remove(folder + "/" + DirectoryLayout.asked)
        } else {
            try write(collected, as: DirectoryLayout.asked, of: replica)
        }
    }

    /// The requests of other replicas.
    /// - Throws: `unreachable`, `refused` when the folder is no longer a remote of the store.
    /// - Complexity: O(n) in the replicas: reads a file of each.
    package func requestedSnapshots() async throws -> [VersionVector] {
        try checkMarker()
        return notes(named: DirectoryLayout.asked).filter { $0.key != replica }.map(\.value)
    }

    /// Records the sums that a replica states.
    /// - Throws: `unreachable`, `notAllowed`, `diskFull` when they cannot be written.
    package func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {
        try checkMarker()
        let folder = DirectoryLayout.folder(of: replica)
        let file = folder + "/" + DirectoryLayout.sums
        if let (bytes, _) = files.head(of: file, limit: StateSums.bytesMax), bytes == sums {
            return
        }
        try files.makeFolder(folder)
        try files.write(sums, to: file, temporaryPrefix: DirectoryLayout.temporaryPrefix)
    }

    /// The sums that replicas have stated.
    /// - Throws: `unreachable`, `refused` when the folder is no longer a remote of the store.
    /// - Complexity: O(n) in the replicas: reads a file of each.
    package func notedSums() async throws -> [ReplicaID: [UInt8]] {
        try checkMarker()
        var sums: [ReplicaID: [UInt8]] = [:]
        for folder in files.names() ?? [] {
            guard let replica = ReplicaID(folder) else { continue }
            let file = folder + "/" + DirectoryLayout.sums
            sums[replica] = files.head(of: file, limit: StateSums.bytesMax)?.bytes
        }
        return sums
    }

    /// Names batches that were found damaged, beside those named before that still are: these are
    /// in no catalog, and so nobody fetches them.
    /// - Throws: `unreachable`, `notAllowed`, `diskFull` when it cannot be written.
    package func noteDamaged(_ names: [String]) async throws {
        try checkMarker()
        let folder = DirectoryLayout.folder(of: replica)
        let file = folder + "/" + DirectoryLayout.damaged
        let before = namedAsDamaged(in: [folder]).filter { !isWhole($0) }
        let all = Set(names).union(before).sorted()
        if all.isEmpty { return try files.remove(file) }
        let lines = all.prefix(DirectoryLayout.damagedMax).map { $0 + "\n" }
        let text = Array(lines.joined().utf8)
        if let (bytes, _) = files.head(of: file, limit: text.count + 1), bytes == text { return }
        try files.makeFolder(folder)
        try files.write(text, to: file, temporaryPrefix: DirectoryLayout.temporaryPrefix)
    }

    /// The batches that one of the replicas found damaged.
    private func namedAsDamaged(in folders: [String]) -> Set<String> {
        let bytesMax = DirectoryLayout.damagedMax * 128
        var names: Set<String> = []
        for folder in folders {
            let file = folder + "/" + DirectoryLayout.damaged
            guard let (bytes, _) = files.head(of: file, limit: bytesMax) else { continue }
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            names.formUnion(lines.prefix(DirectoryLayout.damagedMax).map(String.init))
        }
        return names
    }

    private func write(
        _ vector: VersionVector, as name: String, of replica: ReplicaID
    ) throws {
        let folder = DirectoryLayout.folder(of: replica)
        let file = folder + "/" + name
        let note = MergedNote.encode(vector, store: store)
        if let (bytes, _) = files.head(of: file, limit: MergedNote.bytesMax), bytes == note {
            return
        }
        try files.makeFolder(folder)
        try files.write(note, to: file, temporaryPrefix: DirectoryLayout.temporaryPrefix)
    }

    /// The vectors that replicas have written under a name.
    private func notes(named name: String) -> [ReplicaID: VersionVector] {
        var vectors: [ReplicaID: VersionVector] = [:]
        for folder in files.names() ?? [] {
            guard let replica = ReplicaID(folder) else { continue }
            let file = folder + "/" + name
            guard let (bytes, _) = files.head(of: file, limit: MergedNote.bytesMax),
                let vector = try? MergedNote.decode(bytes, store: store)
            else { continue }
            vectors[replica] = vector
        }
        return vectors
    }

    /// Whether a folder is not a remote yet.
    /// - Throws: `unreachable` when it does not exist or cannot be read; `notAllowed`, with who can
    ///   change that, when it may not be read.
    package static func isNew(_ path: String) throws -> Bool {
        let names = try FolderFiles(path).rootNames(
            remedy: "Mount or create it: mkdir \(Shell.quoted(path))")
        return !names.contains(DirectoryLayout.marker)
    }

    /// The store that the folder is a remote of.
    /// - Throws: `unreachable` when it does not exist or is not a remote; `notAllowed`, with who
    ///   can change that, when it may not be read.
    package static func store(of path: String) throws -> StoreID {
        let marker = path + "/" + DirectoryLayout.marker
        let files = FolderFiles(path)
        let (found, denial) = Self.marker(among: files)
        guard let bytes = found else {
            _ = try files.rootNames(remedy: Self.mountRemedy)
            if let denial { throw denial }
            throw SyncError(
                .unreachable,
                "the folder has no readable file \(DirectoryLayout.marker): it is not mounted, not "
                    + "fully copied, or not a remote",
                path: path,
                hint:
                    "Mount it, or give the folder of a remote; then try again. If it was emptied, "
                    + "make it a remote again: synctool remote add DB NAME "
                    + Shell.quoted("dir:" + path))
        }
        guard let store = DirectoryLayout.store(inMarker: String(decoding: bytes, as: UTF8.self))
        else {
            throw SyncError(
                .unreachable, "the marker file is incomplete or damaged", path: marker,
                hint: "Wait until the folder is fully copied, or restore this file")
        }
        return store
    }

    /// The bytes of the marker; or why they cannot be read, where they are there.
    private static func marker(
        among files: FolderFiles
    ) -> (bytes: [UInt8]?, denial: SyncError?) {
        do {
            return (try files.look(at: DirectoryLayout.marker, limit: 256)?.bytes, nil)
        } catch let error as SyncError where error.code != .badData {
            return (nil, error)
        } catch {
            return (nil, nil)
        }
    }

    private static let mountRemedy = "Mount it, then try again"

    // MARK: Own batches

    /// The replica's own batches, if there are more than `count`.
    /// - Throws: `unreachable`, `refused` when the folder is no longer a remote of the store.
    /// - Complexity: O(n) in the own batch files: reads the envelope of each.
    package func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item] {
        let folder = DirectoryLayout.folder(of: replica)
        let names = files.names(in: folder) ?? []
        guard names.count(where: { $0.hasSuffix(DirectoryLayout.suffix) }) > count else {
            return []
        }
        try checkMarker()
        var problems: [BatchCatalog.Problem] = []
        return items(in: folder, problems: &problems)
    }

    /// Removes batches of the replica itself.
    /// - Throws: `unreachable`, `notAllowed` when a file cannot be removed.
    package func remove(_ items: [BatchCatalog.Item]) async throws {
        try checkMarker()
        let folder = DirectoryLayout.folder(of: replica)
        for item in items where item.name.hasPrefix(folder + "/") {
            try files.remove(item.name)
        }
        // Left behind by a process that was killed while it wrote.
        files.removeFiles(
            withPrefix: DirectoryLayout.temporaryPrefix, in: folder,
            olderThan: Self.temporaryAgeMax)
    }

    /// Removes the files of the replica itself that are no whole batches.
    /// - Parameter number: those with a later transaction stay.
    /// - Throws: `unreachable`, `notAllowed` when a file cannot be removed.
    /// - Complexity: O(n) in its files: reads the envelope of each.
    package func removeUnusable(upTo number: Int64) async throws {
        try checkMarker()
        let folder = DirectoryLayout.folder(of: replica)
        for file in try files.list(folder) ?? [] where DirectoryLayout.isBatch(file) {
            guard let last = Int64(file.prefix(16), radix: 16), last <= number else { continue }
            let name = folder + "/" + file
            do { _ = try envelope(of: name) } catch let error as SyncError
                where error.code == .badData
            {
                try files.remove(name)
            }
        }
    }

    // MARK: Files

    private func catalog() throws -> BatchCatalog {
        try checkMarker()
        var items: [BatchCatalog.Item] = []
        var problems: [BatchCatalog.Problem] = []
        let names = try files.rootNames(remedy: Self.mountRemedy)
        let folders = names.filter { ReplicaID($0) != nil }
        for folder in folders { items += self.items(in: folder, problems: &problems) }
        let named = namedAsDamaged(in: folders)
        let damaged = items.filter { named.contains($0.name) && !isWhole($0.name) }
        problems += damaged.map {
            .init(
                name: $0.name, reason: Self.damage, envelope: $0.envelope,
                unusable: isOwn($0.name) ? nil : .badData)
        }
        return BatchCatalog(items.filter { !damaged.contains($0) }, problems: problems)
    }

    private static let damage = "its content is damaged; a replica that has it sends it again"

    /// Whether the payload of a batch is what its envelope says: read only where a replica named
    /// it, because that takes the whole file.
    private func isWhole(_ name: String) -> Bool {
        guard let bytes = try? files.read(name, limit: Self.fileBytesMax) else { return true }
        return (try? BatchDecoder.parts(bytes)) != nil
    }

    /// The batches in one replica's folder. A file that disappears meanwhile is left out.
    private func items(
        in folder: String, problems: inout [BatchCatalog.Problem]
    ) -> [BatchCatalog.Item] {
        var items: [BatchCatalog.Item] = []
        do {
            let present = try files.list(folder) ?? []
            for file in present where file.hasSuffix(DirectoryLayout.suffix) {
                let name = folder + "/" + file
                do {
                    guard let envelope = try envelope(of: name) else { continue }
                    items.append(.init(name: name, envelope: envelope))
                } catch {
                    problems.append(problem(of: name, error))
                }
            }
            let notes = DirectoryLayout.notes.filter(present.contains)
            problems += files.unread(among: notes, in: folder).map(problem)
        } catch {
            problems.append(problem(of: folder, error))
        }
        return items
    }

    private func problem(of name: String, _ error: any Error) -> BatchCatalog.Problem {
        let error = error as? SyncError ?? SyncError(.badData, "\(error)")
        let isUnread = [.notAllowed, .unreachable].contains(error.code)
        let isUnusable =
            [.badData, .newerFormat].contains(error.code) && !isOwn(name)
            && DirectoryLayout.isBatch(name)
        return .init(
            name: name, reason: error.reason, unread: isUnread ? error.code : nil,
            unusable: isUnusable ? error.code : nil, remedy: error.hint)
    }

    /// Whether this replica wrote a file: nothing that it held is missing here, and a push writes
    /// it again.
    private func isOwn(_ name: String) -> Bool {
        name.hasPrefix(DirectoryLayout.folder(of: replica) + "/")
    }

    /// The envelope of a file; nil when the file does not exist.
    /// - Throws: `badData` when it is not an intact batch of this store; `notAllowed`,
    ///   `unreachable` when it cannot be read.
    private func envelope(of name: String) throws -> BatchEnvelope? {
        guard let (bytes, size) = try files.look(at: name, limit: Self.headBytes) else {
            return nil
        }
        let (envelope, start) = try BatchEnvelope.read(bytes)
        guard size == start + envelope.payloadBytes else {
            throw SyncError(.badData, "the file is truncated, or has trailing data")
        }
        guard envelope.store == store else {
            throw SyncError(.refused, "the batch belongs to another store")
        }
        return envelope
    }
}
