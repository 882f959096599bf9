import ArgumentParser
import Glibc
import SyncRemotes
import SyncReplica

/// `synctool serve --stdio DB`
struct Serve: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Be the other side of an ssh: remote.",
        discussion: """
            ssh starts it; nobody types it. To let a key do this and nothing else, write into \
            authorized_keys: command="synctool serve --stdio /srv/music.db",restrict ssh-ed25519 …
            """)

    @Flag(help: "Speak over the standard input and output; the only way there is.")
    var stdio = false
    @Flag(help: "Refuse what the other side sends.") var readOnly = false
    @Argument(help: ArgumentHelp("The database file.", valueName: "db")) var path: String
    @OptionGroup var common: CommonOptions
    var database: String? { path }

    func validate() throws {
        guard stdio else { throw ValidationError("Write --stdio: there is no other way yet.") }
    }

    mutating func run() async throws {
        let replica: StoreReplica
        do {
            replica = try StoreReplica(StorePath.absolute(path))
        } catch let error as SyncError {
            await StoreRefusal.tell(error, input: STDIN_FILENO, output: STDOUT_FILENO)
            throw error
        }
        defer { try? replica.close() }
        let server = try await StoreServer(replica, isReadOnly: readOnly)
        await server.run(input: STDIN_FILENO, output: STDOUT_FILENO)
    }
}
