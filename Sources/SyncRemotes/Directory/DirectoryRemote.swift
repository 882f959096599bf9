import Foundation
import SyncMerge

/// A folder as a remote: a network mount, or what a file syncer carries from machine to machine.
///
/// Invariants
/// - A replica writes and removes files in its own subfolder alone: no two machines ever write one
///   file, so that no syncer has a conflict to solve.
/// - A batch's file never changes: its name follows from its content.
/// - Nothing is trusted: files that are cut short (still on their way), damaged, foreign, copied or
///   renamed are passed over and named; they count again when they are whole.
/// - The folder is made a remote once, by ``create(_:store:)``. A folder without its marker is not
///   there (not mounted, deleted): nobody writes into it.
package struct DirectoryRemote: Remote {
    private static let headBytes = BatchLimits.envelopeBytesMax + 64
    private static let fileBytesMax = BatchLimits.contentBytesMax + headBytes

    /// Nobody writes one file for so long.
    private static let temporarySeconds: TimeInterval = 3600

    /// The folder.
    package let path: String
    private let store: StoreID
    private let replica: ReplicaID

    /// Opens a folder on behalf of a replica.
    /// - Throws: `unreachable` when it is not there or is no remote; `refused` when it is one of
    ///   another store.
    package init(_ path: String, store: StoreID, replica: ReplicaID) throws {
        self.path = path
        self.store = store
        self.replica = replica
        try checkMarker()
    }

    /// Makes an existing folder a remote of a store; one that is so already stays as it is.
    /// - Throws: `unreachable` when the folder is not there; `refused` when it is a remote of
    ///   another store.
    package static func create(_ path: String, store: StoreID) throws {
        guard let names = FileAccess.names(in: path) else {
            throw SyncError(
                .unreachable, "the folder is not there", path: path,
                hint: "Make or mount it first")
        }
        if !names.contains(DirectoryLayout.marker) {
            try FileAccess.write(
                Array(DirectoryLayout.markerText(store).utf8),
                to: path + "/" + DirectoryLayout.marker,
                temporaryPrefix: DirectoryLayout.temporaryPrefix)
        }
        _ = try DirectoryRemote(path, store: store, replica: nobody)
    }

    /// Stands for nobody: who only looks.
    package static let nobody: ReplicaID = {
        guard let none = ReplicaID(String(repeating: "0", count: 32)) else {
            preconditionFailure("32 digits are an identifier")
        }
        return none
    }()

    private func checkMarker() throws {
        let other = try Self.store(of: path)
        guard other == store else {
            throw SyncError(
                .refused, "the folder is a remote of another store (\(other))", path: path,
                hint: "Take another folder; or join that store: synctool remote add --join")
        }
    }

    // MARK: Remote

    package func catalog(since: VersionVector) async throws -> BatchCatalog { try catalog() }

    package func head() async throws -> VersionVector {
        try catalog().reach(since: VersionVector())
    }

    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        try checkMarker()
        return try FileAccess.read(path + "/" + item.name, limit: Self.fileBytesMax)
    }

    package func append(_ batch: [UInt8]) async throws {
        try checkMarker()
        let envelope = try BatchDecoder.verify(batch)
        guard envelope.store == store else {
            throw SyncError(.refused, "the batch belongs to another store", path: path)
        }
        let folder = path + "/" + DirectoryLayout.folder(of: replica)
        try FileAccess.makeFolder(folder)
        let file = folder + "/" + DirectoryLayout.name(of: envelope)
        if let (_, size) = FileAccess.head(of: file, limit: 0), size == batch.count { return }
        try FileAccess.write(
            batch, to: file, temporaryPrefix: DirectoryLayout.temporaryPrefix)
    }

    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        try checkMarker()
        try write(vector, DirectoryLayout.merged, of: replica)
    }

    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try checkMarker()
        return notes(DirectoryLayout.merged)
    }

    package func ask(for collected: VersionVector) async throws {
        try checkMarker()
        let folder = path + "/" + DirectoryLayout.folder(of: replica)
        if collected.isEmpty {
            try FileAccess.remove(folder + "/" + DirectoryLayout.asked)
        } else {
            try write(collected, DirectoryLayout.asked, of: replica)
        }
    }

    package func asked() async throws -> [VersionVector] {
        try checkMarker()
        return notes(DirectoryLayout.asked).filter { $0.key != replica }.map(\.value)
    }

    private func write(_ vector: VersionVector, _ name: String, of replica: ReplicaID) throws {
        let folder = path + "/" + DirectoryLayout.folder(of: replica)
        let file = folder + "/" + name
        let note = MergedNote.encode(vector, store)
        if let (bytes, _) = FileAccess.head(of: file, limit: MergedNote.bytesMax), bytes == note {
            return
        }
        try FileAccess.makeFolder(folder)
        try FileAccess.write(
            note, to: file, temporaryPrefix: DirectoryLayout.temporaryPrefix)
    }

    /// The vectors that replicas have noted under a name.
    private func notes(_ name: String) -> [ReplicaID: VersionVector] {
        var vectors: [ReplicaID: VersionVector] = [:]
        for folder in FileAccess.names(in: path) ?? [] {
            guard let replica = ReplicaID(folder) else { continue }
            let file = path + "/" + folder + "/" + name
            guard let (bytes, _) = FileAccess.head(of: file, limit: MergedNote.bytesMax),
                let vector = try? MergedNote.decode(bytes, store)
            else { continue }
            vectors[replica] = vector
        }
        return vectors
    }

    /// Whether a folder is there that is no remote yet.
    /// - Throws: `unreachable` when it is not there.
    package static func isNew(_ path: String) throws -> Bool {
        guard let names = FileAccess.names(in: path) else {
            throw SyncError(
                .unreachable, "the folder is not there", path: path,
                hint: "Make or mount it first")
        }
        return !names.contains(DirectoryLayout.marker)
    }

    /// The store that the folder is a remote of.
    /// - Throws: `unreachable` when it is not there or is no remote.
    package static func store(of path: String) throws -> StoreID {
        let marker = path + "/" + DirectoryLayout.marker
        guard let (bytes, _) = FileAccess.head(of: marker, limit: 256) else {
            throw SyncError(
                .unreachable, "the folder is not there, or is not a remote", path: path,
                hint: "Mount it, or make it a remote with: synctool remote add DB origin dir:"
                    + path)
        }
        guard let store = DirectoryLayout.store(inMarker: String(decoding: bytes, as: UTF8.self))
        else { throw SyncError(.unreachable, "the folder's marker is not whole", path: path) }
        return store
    }

    // MARK: Own batches

    package func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item] {
        let folder = DirectoryLayout.folder(of: replica)
        let names = FileAccess.names(in: path + "/" + folder) ?? []
        guard names.count(where: { $0.hasSuffix(DirectoryLayout.suffix) }) > count else {
            return []
        }
        try checkMarker()
        var problems: [BatchCatalog.Problem] = []
        return items(in: folder, &problems)
    }

    package func remove(_ items: [BatchCatalog.Item]) async throws {
        try checkMarker()
        let prefix = DirectoryLayout.folder(of: replica) + "/"
        for item in items where item.name.hasPrefix(prefix) {
            try FileAccess.remove(path + "/" + item.name)
        }
        // What a process left behind that was killed while it wrote.
        FileAccess.removeOld(
            DirectoryLayout.temporaryPrefix, in: path + "/" + prefix,
            seconds: Self.temporarySeconds)
    }

    /// Reads the replica's own batches through; removes those that are damaged, and those that
    /// another one makes needless: they start no earlier and lead no further. The next push sends
    /// again what the head then lacks.
    /// - Returns: how many files were removed.
    /// - Complexity: reads all own files.
    package func tidy() throws -> Int {
        try checkMarker()
        var problems: [BatchCatalog.Problem] = []
        var removed = 0
        var whole: [BatchCatalog.Item] = []
        for item in items(in: DirectoryLayout.folder(of: replica), &problems) {
            let file = path + "/" + item.name
            let bytes = try FileAccess.read(file, limit: Self.fileBytesMax)
            if (try? BatchDecoder.verify(bytes)) != nil {
                whole.append(item)
            } else {
                try FileAccess.remove(file)
                removed += 1
            }
        }
        for item in whole {
            guard whole.contains(where: { $0.makesNeedless(item) }) else { continue }
            try FileAccess.remove(path + "/" + item.name)
            whole.removeAll { $0 == item }
            removed += 1
        }
        return removed
    }

    // MARK: Files

    private func catalog() throws -> BatchCatalog {
        try checkMarker()
        var items: [BatchCatalog.Item] = []
        var problems: [BatchCatalog.Problem] = []
        for folder in FileAccess.names(in: path) ?? [] where ReplicaID(folder) != nil {
            items += self.items(in: folder, &problems)
        }
        return BatchCatalog(items, problems: problems)
    }

    /// The batches in one replica's folder. A file that vanishes meanwhile was never there.
    private func items(
        in folder: String, _ problems: inout [BatchCatalog.Problem]
    ) -> [BatchCatalog.Item] {
        var items: [BatchCatalog.Item] = []
        for file in FileAccess.names(in: path + "/" + folder) ?? []
        where file.hasSuffix(DirectoryLayout.suffix) {
            let name = folder + "/" + file
            do {
                guard let envelope = try envelope(of: name) else { continue }
                items.append(.init(name: name, envelope: envelope))
            } catch let error as SyncError {
                problems.append(.init(name: name, reason: error.reason))
            } catch {
                problems.append(.init(name: name, reason: "\(error)"))
            }
        }
        return items
    }

    /// The envelope of a file; nil when it is not there.
    private func envelope(of name: String) throws -> BatchEnvelope? {
        guard let (bytes, size) = FileAccess.head(of: path + "/" + name, limit: Self.headBytes)
        else { return nil }
        let (envelope, start) = try BatchEnvelope.read(bytes)
        guard size == start + envelope.payloadBytes else {
            throw SyncError(.badData, "the file is cut short, or has a tail")
        }
        guard envelope.store == store else {
            throw SyncError(.badData, "the batch belongs to another store")
        }
        return envelope
    }
}
