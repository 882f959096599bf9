import Foundation
import SyncTesting
import Testing

/// A file system of a few megabytes, in a mount namespace of its own: nothing outside sees it, and
/// it is gone with the process that holds the namespace. The daemon and its writers run inside.
final class SmallDisk: Sendable {
    let scene: Scene
    /// Where it is mounted, for those inside.
    let path: String
    private let holder: Child

    /// Cancels the test where mounting is refused (it takes root, or a kernel that lets users have
    /// namespaces).
    init(_ scene: Scene, megabytes: Int) async throws {
        self.scene = scene
        path = scene.folder.path("disk")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        holder = try scene.start(
            "/usr/bin/unshare",
            [
                "--mount", "/bin/sh", "-c",
                "mount -t tmpfs -o size=\(megabytes)m tmpfs \(path) && echo mounted && exec sleep 600",
            ])
        let isMounted = await eventually(within: .seconds(10)) {
            holder.text.contains("mounted") || !holder.isRunning
        }
        guard isMounted, holder.isRunning else {
            let reason = holder.errors
            await holder.stop()
            try Test.cancel("no small disk can be mounted here: \(reason)")
        }
    }

    func stop() async { await holder.stop() }

    /// Starts a process inside.
    func start(_ program: String, _ arguments: String...) throws -> Child {
        try scene.start(
            "/usr/bin/nsenter", ["--target", "\(holder.pid)", "--mount", program] + arguments)
    }

    @discardableResult
    func run(_ program: String, _ arguments: String...) async throws -> Child.Output {
        try await scene.start(
            "/usr/bin/nsenter", ["--target", "\(holder.pid)", "--mount", program] + arguments
        ).output()
    }

    /// Takes the rest of the space.
    func fill() async throws {
        try await run("/bin/sh", "-c", "dd if=/dev/zero of=\(path)/ballast bs=4k 2>&1 || true")
    }

    /// Gives it back.
    func free() async throws { try await run("/bin/rm", "-f", "\(path)/ballast").expectSuccess() }
}
