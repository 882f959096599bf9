import Foundation

/// Files of the state directory that are replaced as a whole.
enum StateFile {
    /// Writes beside the file, syncs, renames: the file is whole at any moment.
    ///
    /// - Throws: `POSIXError`, or the error of the write.
    static func replace(_ file: String, with data: Data) throws {
        let temporary = file + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: data)
        try handle.synchronize()
        try handle.close()
        guard rename(temporary, file) == 0 else {
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
    }
}
