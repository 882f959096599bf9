import CLinux
import Glibc
import SyncStorage
import Varlink

/// A path that a caller names, with its links resolved as the caller could resolve them.
///
/// The daemon can look into folders that a caller cannot: where a link in one of them leads, it
/// must not tell, by an error or by what it answers. So each folder on the way is checked for the
/// caller before it is passed, through a descriptor of its own: none can be exchanged in between.
///
/// Links of `/proc` are not followed: they lead elsewhere for each process that follows them
/// (`/proc/self`), and some lead where no path does (`/proc/PID/fd/3`, `exe`, `cwd`).
enum CallerPath {
    /// As the kernel: more links on the way are taken for a circle.
    private static let linksMax = 40
    /// Of a link, and of a path.
    private static let bytesMax = 4096

    /// `path` with its links resolved; what does not exist, or what the daemon itself cannot look
    /// at, and what is behind it, is left as it is.
    ///
    /// - Returns: nil when the caller may not search a folder on the way, or a link is not
    ///   followed.
    /// - Complexity: O(components), some system calls each.
    static func resolved(_ path: String, for peer: PeerIdentity) -> String? {
        guard PathResolution.isAbsolute(path), !path.utf8.contains(0) else { return path }
        var walk = Walk(path)
        defer { walk.close() }
        return walk.run(for: peer)
    }

    private struct Walk {
        /// What is left of the path, the next component last.
        private var rest: [String]
        /// The folders that were passed, from the root on.
        private var folders: [(name: String, descriptor: Int32)]
        private var links = 0

        init(_ path: String) {
            rest = Self.components(of: path)
            folders = [("", syncd_open_path(AT_FDCWD, "/"))]
        }

        func close() { for folder in folders { Glibc.close(folder.descriptor) } }

        private static func components(of path: String) -> [String] {
            path.utf8.split(separator: PathResolution.slashByte).reversed()
                .map { String(Substring($0)) }.filter { $0 != "." }
        }

        private func joined(with last: [String]) -> String {
            "/" + (folders.dropFirst().map(\.name) + last).joined(separator: "/")
        }

        mutating func run(for peer: PeerIdentity) -> String? {
            while let name = rest.popLast() {
                guard let folder = folders.last?.descriptor, folder >= 0,
                    FilePermission.maySearch(folder, peer: peer)
                else { return nil }
                if name == ".." {
                    if folders.count > 1 { Glibc.close(folders.removeLast().descriptor) }
                    continue
                }
                let found = syncd_open_path(folder, name)
                guard found >= 0 else { return joined(with: [name] + rest.reversed()) }
                var status = stat()
                guard fstat(found, &status) == 0 else {
                    Glibc.close(found)
                    return nil
                }
                switch status.st_mode & S_IFMT {
                case S_IFLNK:
                    defer { Glibc.close(found) }
                    guard follow(found, in: folder) else { return nil }
                case S_IFDIR: folders.append((name, found))
                default:
                    Glibc.close(found)
                    return joined(with: [name] + rest.reversed())
                }
            }
            return joined(with: [])
        }

        /// Goes on with where a link leads.
        private mutating func follow(_ link: Int32, in folder: Int32) -> Bool {
            links += 1
            guard links <= linksMax, syncd_is_in_proc(folder) == 0 else { return false }
            var bytes = [CChar](repeating: 0, count: bytesMax)
            let count = readlinkat(link, "", &bytes, bytes.count)
            guard count > 0, count < bytes.count else { return false }
            let target = String(
                decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if PathResolution.isAbsolute(target) {
                for passed in folders.dropFirst() { Glibc.close(passed.descriptor) }
                folders.removeSubrange(1...)
            }
            rest += Self.components(of: target)
            return true
        }
    }
}
