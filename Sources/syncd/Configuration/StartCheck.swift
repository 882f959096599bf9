import Glibc
import SyncStorage
import Varlink

/// Whether the daemon could make what it needs to start: the folder of its state, and its sockets.
/// Makes nothing: another process may take the place in between.
enum StartCheck {
    /// - Throws: ``StartFailure``, as the daemon would end with it.
    static func requirePlaces(of configuration: Configuration) throws {
        try requireFolder(configuration.stateDirectory, madeBy: .anyNumber)
        try requireSocket(configuration.socket, madeBy: .one)
        if let socket = configuration.metrics.socket {
            try requireSocket(socket, madeBy: .none)
        }
    }

    /// How many folders the daemon makes for a place.
    private enum Folders { case none, one, anyNumber }

    private static func requireSocket(_ path: String, madeBy folders: Folders) throws {
        let address: VarlinkAddress
        do {
            address = try VarlinkAddress(path)
        } catch let error as TransportError {
            throw StartFailure(error, at: path)
        }
        if address.isAbstract { return }
        try requireFolder(folder(of: address.path), madeBy: folders)
    }

    private static func requireFolder(_ path: String, madeBy folders: Folders) throws {
        var status = stat()
        guard stat(path, &status) != 0 else {
            guard status.st_mode & S_IFMT == S_IFDIR else { throw failure(path, ENOTDIR) }
            guard access(path, W_OK | X_OK) == 0 else { throw failure(path, errno) }
            return
        }
        let reason = errno
        let above = folder(of: path)
        guard reason == ENOENT, folders != .none, above != path, !isOfKernel(above) else {
            throw failure(path, isOfKernel(above) ? ENOENT : reason)
        }
        try requireFolder(above, madeBy: folders == .one ? .none : .anyNumber)
    }

    /// In `/proc` and `/sys` nobody makes folders, though root may write there.
    private static func isOfKernel(_ path: String) -> Bool {
        ["/proc", "/sys"].contains { path == $0 || path.hasPrefix($0 + "/") }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: PathResolution.slashByte) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func failure(_ path: String, _ number: Int32) -> StartFailure {
        StartFailure(
            exitStatus: number == EACCES || number == EROFS ? 77 : 78,
            "\(path): the daemon cannot make a file there as uid \(geteuid()): "
                + String(cString: strerror(number)))
    }
}
