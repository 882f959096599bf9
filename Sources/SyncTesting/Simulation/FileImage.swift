import Foundation

/// The files of a database as a process that is killed leaves them: what it has written, synced or
/// not.
struct FileImage {
    /// What follows the path of the database in the names of its files. What is shared between
    /// processes (`-shm`) is not among them: without a process there is none.
    static let endings = ["", "-wal", "-journal"]

    /// What each file holds that is there, in the order of ``endings``.
    private let contents: [Data?]

    /// The files as they are now.
    init(_ path: String) throws {
        contents = try Self.endings.map { ending in
            guard FileManager.default.fileExists(atPath: path + ending) else { return nil }
            return try Data(contentsOf: URL(fileURLWithPath: path + ending))
        }
    }

    /// Makes the files what they were; the database stays the same file. Nothing has it open.
    func restore(at path: String) throws {
        try? FileManager.default.removeItem(atPath: path + "-shm")
        for (ending, bytes) in zip(Self.endings, contents) {
            let url = URL(fileURLWithPath: path + ending)
            guard let bytes else {
                try? FileManager.default.removeItem(at: url)
                continue
            }
            guard ending.isEmpty else {
                try bytes.write(to: url)
                continue
            }
            let file = try FileHandle(forWritingTo: url)
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: bytes)
            try file.close()
        }
    }
}

/// A choice of the states that the files of a database go through while statements run.
struct SampledImages {
    /// Each is as likely as the others to be among them.
    private(set) var images: [(statement: Int, image: FileImage)] = []
    private let path: String
    private let count: Int
    private var random: SeededRandom
    private var statements = 0
    private var states = 0
    private var stamp: [FileStamp]

    /// None yet. The state of now is not among them.
    /// - Parameters:
    ///   - count: how many are kept.
    ///   - seed: of the choice.
    init(_ path: String, count: Int, seed: UInt64) {
        self.path = path
        self.count = count
        random = SeededRandom(seed: seed)
        stamp = Self.stamp(path)
    }

    /// Looks at the files as a statement begins.
    mutating func statementBegins() throws {
        statements += 1
        let now = Self.stamp(path)
        guard now != stamp else { return }
        stamp = now
        states += 1
        let place = images.count < count ? images.count : random.below(states)
        guard place < count else { return }
        let image = (statements, try FileImage(path))
        if place == images.count { images.append(image) } else { images[place] = image }
    }

    private static func stamp(_ path: String) -> [FileStamp] {
        FileImage.endings.map { FileStamp(path + $0) }
    }
}

/// What tells that a file was written.
private struct FileStamp: Equatable {
    private let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    /// Of a file that is not there all are zero.
    init(_ path: String) {
        var status = stat()
        _ = stat(path, &status)
        size = status.st_size
        seconds = status.st_mtim.tv_sec
        nanoseconds = status.st_mtim.tv_nsec
    }
}
