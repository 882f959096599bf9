import SyncMerge

/// A store on another machine, through the system's `ssh` and `synctool serve --stdio` there.
///
/// Connects at the first call, and anew after a failure: an exchange that was interrupted goes on
/// with the next one. One conversation at a time.
package actor SSHRemote: Remote {
    private let address: RemoteAddress
    private let command: [String]
    private let patience: ServeClient.Patience
    private let store: StoreID?
    private var client: ServeClient?
    private var greeted: (store: StoreID, replica: ReplicaID)?

    /// A remote at an address; nothing is connected yet.
    /// - Parameter store: refuses any other; nil takes what is there.
    /// - Throws: `invalidArgument` for an address of another kind.
    package init(
        _ address: RemoteAddress, store: StoreID?, options: SSHOptions = SSHOptions()
    ) throws {
        guard case .ssh(let user, let host, let port, let path) = address else {
            throw SyncError(.invalidArgument, "\(address) is not an ssh: address")
        }
        self.address = address
        self.store = store
        command = SSHCommand.make(user: user, host: host, port: port, path: path, options)
        var patience = ServeClient.Patience()
        if let silenceMax = options.silenceMax {
            patience.greeting = silenceMax
            patience.answer = silenceMax
        }
        self.patience = patience
    }

    /// Who is at the other side.
    /// - Throws: `unreachable`; `refused` for another store than was expected.
    package func identity() async throws -> (store: StoreID, replica: ReplicaID) {
        _ = try await connected()
        guard let greeted else { throw ServeClient.unexpected }
        return greeted
    }

    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        guard case .catalog(let catalog) = try await ask(.catalog(since)) else {
            throw ServeClient.unexpected
        }
        return catalog
    }

    package func head() async throws -> VersionVector {
        guard case .vector(let vector) = try await ask(.head) else {
            throw ServeClient.unexpected
        }
        return vector
    }

    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        guard case .bytes(let bytes) = try await ask(.fetch(item.name)) else {
            throw ServeClient.unexpected
        }
        return bytes
    }

    package func append(_ batch: [UInt8]) async throws {
        guard case .done = try await ask(.append(batch)) else { throw ServeClient.unexpected }
    }

    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        guard case .done = try await ask(.acknowledge(replica, vector)) else {
            throw ServeClient.unexpected
        }
    }

    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        guard case .acknowledged(let vectors) = try await ask(.acknowledged) else {
            throw ServeClient.unexpected
        }
        return vectors
    }

    package func disconnect() async { drop() }

    private func drop() {
        client?.close()
        client = nil
    }

    private func ask(_ request: ServeRequest) async throws -> ServeAnswer {
        let client = try await connected()
        do {
            return try await client.ask(request)
        } catch let error as SyncError {
            if error.code == .unreachable || error.code == .badData { drop() }
            throw error
        } catch {
            drop()
            throw error
        }
    }

    private func connected() async throws -> ServeClient {
        if let client { return client }
        let address = address
        let client = try ServeClient(command, patience: patience) { end, words in
            Self.explain(end, words, address)
        }
        do {
            let greeted = try await client.greeting()
            if let store, greeted.store != store {
                throw SyncError(
                    .refused, "\(address) is another store (\(greeted.store))",
                    hint: "Look at the address; or join that store: synctool remote remove DB NAME "
                        + "then synctool remote add DB NAME \(address) --join by-key")
            }
            self.greeted = greeted
            self.client = client
            return client
        } catch {
            client.close()
            throw error
        }
    }

    /// What a person has to know when the connection ended: how, and ssh's last words.
    private static func explain(
        _ end: SpawnedProcess.End, _ words: String?, _ address: RemoteAddress
    ) -> SyncError {
        guard case .ssh(let user, let host, let port, _) = address else {
            return SyncError(.unreachable, "\(address) does not answer")
        }
        let login =
            "ssh " + (port.map { "-p \($0) " } ?? "") + (user.map { $0 + "@" } ?? "") + host
        let said = words.map { ": \($0)" } ?? ""
        switch end {
        case .silent(let patience):
            return SyncError(
                .unreachable,
                "\(address) has said nothing for \(patience.components.seconds) s\(said)",
                hint: "Try again; see whether this works: \(login) true")
        case .exited(127):
            return SyncError(
                .unreachable, "synctool is not to be found on \(host)\(said)",
                hint: "Install it there, or say where it is: synctool remote add --synctool PATH")
        case .exited(255):
            return SyncError(
                .unreachable, "ssh to \(host) failed\(said)",
                hint: "See whether this works without a question: \(login) true")
        case .exited(let status):
            return SyncError(
                .unreachable, "the other side of \(address) ended with status \(status)\(said)",
                hint: "See whether this works: \(login) synctool --version")
        case .killed(let signal):
            return SyncError(
                .unreachable, "the connection to \(host) was ended by signal \(signal)\(said)",
                hint: "Try again")
        }
    }
}
