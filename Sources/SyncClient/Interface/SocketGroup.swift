import Glibc

/// The group whose members may connect to a socket.
enum SocketGroup {
    private static let bytesMax = 16_384

    /// What lets this user connect to the socket at `path`.
    static func hint(for path: String) -> String {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & 0o020 != 0,
            let group = name(ofGroup: status.st_gid)
        else {
            return "Only its owner may connect: ls -l \(path). A daemon of your own: syncd --user"
        }
        let user = name(ofUser: geteuid()) ?? "NAME"
        return "Join the group of its socket, then log in again: sudo usermod -aG \(group) \(user)"
    }

    private static func name(ofGroup number: gid_t) -> String? {
        var buffer = [CChar](repeating: 0, count: bytesMax)
        var entry = group()
        var found: UnsafeMutablePointer<group>?
        guard getgrgid_r(number, &entry, &buffer, buffer.count, &found) == 0, found != nil else {
            return nil
        }
        return String(cString: entry.gr_name)
    }

    private static func name(ofUser number: uid_t) -> String? {
        var buffer = [CChar](repeating: 0, count: bytesMax)
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard getpwuid_r(number, &entry, &buffer, buffer.count, &found) == 0, found != nil else {
            return nil
        }
        return String(cString: entry.pw_name)
    }
}
