import Glibc

/// The socket of a server at a path, and its file.
///
/// Invariant: the file is removed only while it is the one that this socket made (same device and
/// inode): a successor that replaced it keeps its own.
package struct ListeningSocket: Sendable {
    /// The bound descriptor. It listens already: a socket that does not is taken for a dead
    /// server's.
    package let descriptor: CInt
    private let path: String?
    private let device: dev_t
    private let inode: ino_t

    /// Binds to `address`. The socket file of a dead server is replaced; that of a running one is
    /// not. A lock on the directory separates two servers that start at the same time.
    ///
    /// - Throws: `TransportError` (`addressInUse`, `cannotListen`).
    package init(at address: VarlinkAddress, mode: mode_t) throws {
        let lock = address.isAbstract ? -1 : Self.lockDirectory(of: address.path)
        defer { if lock >= 0 { close(lock) } }
        if !address.isAbstract { try Self.removeStale(address) }
        descriptor = try UnixSocket.make()
        // The file gets the socket's mode less the umask: never more permissions than
        // asked for, at no moment.
        fchmod(descriptor, mode)
        let error = UnixSocket.bind(descriptor, to: address)
        guard error == 0 else {
            close(descriptor)
            throw TransportError(
                error == EADDRINUSE ? .addressInUse : .cannotListen,
                "cannot listen: \(UnixSocket.message(error))", path: address.path,
                hint: error == ENOENT ? "create the directory first" : nil)
        }
        guard listen(descriptor, CInt(SOMAXCONN)) == 0 else {
            let error = errno
            close(descriptor)
            throw TransportError(
                .cannotListen, "cannot listen: \(UnixSocket.message(error))", path: address.path)
        }
        guard !address.isAbstract else {
            (path, device, inode) = (nil, 0, 0)
            return
        }
        chmod(address.path, mode)
        var status = stat()
        lstat(address.path, &status)
        (path, device, inode) = (address.path, status.st_dev, status.st_ino)
    }

    /// Removes the socket's file, if it is still this socket's.
    package func unlinkFile() {
        guard let path else { return }
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else {
            return
        }
        unlink(path)
    }

    private static func lockDirectory(of path: String) -> CInt {
        let slash = path.lastIndex(of: "/")
        let directory = slash.map { path[..<$0].isEmpty ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor >= 0 { flock(descriptor, LOCK_EX) }
        return descriptor
    }

    private static func removeStale(_ address: VarlinkAddress) throws {
        var status = stat()
        guard lstat(address.path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw TransportError(
                .addressInUse, "a file that is not a socket is at this path", path: address.path)
        }
        let probe = try UnixSocket.make()
        defer { close(probe) }
        switch UnixSocket.connect(probe, to: address) {
        case ECONNREFUSED: unlink(address.path)
        case ENOENT: break
        case 0, EAGAIN:
            throw TransportError(
                .addressInUse, "another process listens on this socket", path: address.path,
                hint: "find it with: ss -xlp")
        case let error:
            throw TransportError(
                .addressInUse,
                "cannot check whether a process listens here: \(UnixSocket.message(error))",
                path: address.path)
        }
    }
}
