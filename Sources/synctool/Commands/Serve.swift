import ArgumentParser
import Glibc
import SyncRemotes
import SyncReplica

/// `synctool serve --stdio DB`
struct Serve: FileCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve a store over standard input and output (for ssh: remotes).",
        discussion: """
            An ssh: remote starts this command on the remote machine. To restrict an ssh key to \
            it, write in authorized_keys:
            command="synctool serve --stdio /srv/music.db",restrict ssh-ed25519 …

            \(FileCommandHelp.note)
            """)

    @Flag(help: "Use the standard input and output (required).")
    var stdio = false
    @Flag(help: "Refuse changes from the client.") var readOnly = false
    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file()) var path:
        String
    var database: String? { path }

    func validate() throws {
        guard stdio else {
            throw ValidationError("Add --stdio: only standard input and output are supported.")
        }
    }

    mutating func run() async throws {
        let replica: StoreReplica
        do {
            replica = try StoreReplica(StorePath.absolute(path))
        } catch let error as SyncError {
            await StoreRefusal.send(error, input: STDIN_FILENO, output: STDOUT_FILENO)
            throw error
        }
        defer { try? replica.close() }
        let server = try await StoreServer(replica, isReadOnly: readOnly)
        await server.run(input: STDIN_FILENO, output: STDOUT_FILENO)
    }
}
