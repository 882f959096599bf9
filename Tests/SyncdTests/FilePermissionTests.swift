import Foundation
import Glibc
import SyncTesting
import Testing
import Varlink

@testable import syncd

/// What the daemon decides is compared with what the kernel does for a process of that user.
@Suite(
    .enabled(if: getuid() == 0, "only root can become another user"), .timeLimit(.minutes(3)))
struct FilePermissionTests {
    private let directory: TemporaryFolder

    init() throws {
        directory = try TemporaryFolder()
        chmod(directory.path, 0o755)
    }

    private func kernelAllows(_ need: FilePermission.Need, _ path: String, _ peer: PeerIdentity)
        throws
        -> Bool
    {
        let groups =
            peer.groups.isEmpty
            ? ["--clear-groups"]
            : ["--groups", peer.groups.map(String.init).joined(separator: ",")]
        let mode = need == .read ? "<" : "<>"
        let ended = try run(
            "/usr/bin/setpriv",
            ["--reuid", "\(peer.uid)", "--regid", "\(peer.gid)"] + groups
                + ["/bin/bash", "-c", "exec 3\(mode)\"$0\"", path])
        return ended.status == 0
    }

    @Test func agreesWithTheKernel() throws {
        let folder = directory.file("folder")
        let path = folder + "/x.db"
        mkdir(folder, 0o755)
        _ = FileManager.default.createFile(atPath: path, contents: Data())
        let peers = [
            PeerIdentity(pid: 1, uid: 2001, gid: 2001, groups: []),
            PeerIdentity(pid: 1, uid: 2002, gid: 2002, groups: [3001]),
            PeerIdentity(pid: 1, uid: 2003, gid: 3001, groups: []),
            PeerIdentity(pid: 1, uid: 2004, gid: 2004, groups: []),
            PeerIdentity(pid: 1, uid: 0, gid: 0, groups: []),
        ]
        chown(path, 2001, 3001)
        for folderMode in [0o755, 0o750, 0o711, 0o700] as [mode_t] {
            chown(folder, 2001, 3001)
            chmod(folder, folderMode)
            for mode in [0o600, 0o640, 0o660, 0o644, 0o666, 0o066, 0o060, 0o604, 0o000] as [mode_t]
            {
                chmod(path, mode)
                for peer in peers {
                    for need in [FilePermission.Need.read, .write] {
                        #expect(
                            FilePermission.allows(need, at: path, peer: peer)
                                == (try kernelAllows(need, path, peer)),
                            "uid \(peer.uid) \(need) \(String(mode, radix: 8)) in \(String(folderMode, radix: 8))"
                        )
                    }
                }
            }
        }
    }
}
