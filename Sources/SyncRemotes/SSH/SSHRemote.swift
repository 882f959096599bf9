import SyncMerge

/// A store on another machine, through the system's `ssh` and `synctool serve --stdio` there.
///
/// Connects at the first call, and again after a failure: the next exchange continues one that was
/// interrupted. One connection at a time.
package actor SSHRemote: Remote {
    private let address: SSHAddress
    private let command: [String]
    private let timeouts: ServeClient.Timeouts
    private let store: StoreID?
    private var client: ServeClient?
    /// How often the timeout of an answer a server may be working in one connection.
    private static let workingPerAnswer = 120
    private var peer: (store: StoreID, replica: ReplicaID)?

    /// A remote at an address; nothing is connected yet.
    /// - Parameter store: the store that is expected there; nil accepts any.
    package init(_ address: SSHAddress, store: StoreID?, options: SSHOptions = SSHOptions()) {
        self.address = address
        self.store = store
        command = SSHCommand.make(for: address, options: options)
        var timeouts = ServeClient.Timeouts()
        if let timeout = options.timeout {
            timeouts.greeting = timeout
            timeouts.answer = timeout
            timeouts.working = timeout * Self.workingPerAnswer
        }
        self.timeouts = timeouts
    }

    /// The store and the replica behind the address.
    /// - Throws: `unreachable`; `refused` when it is not the expected store.
    package func identity() async throws -> (store: StoreID, replica: ReplicaID) {
        _ = try await connected()
        guard let peer else { throw ServeClient.unexpected }
        return peer
    }

    /// The batches that a receiver can fetch.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func catalog(since: VersionVector) async throws -> BatchCatalog {
        guard case .catalog(let catalog) = try await ask(.catalog(since)) else {
            throw ServeClient.unexpected
        }
        return catalog
    }

    /// How far the batches lead a receiver that has merged nothing.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func head() async throws -> VersionVector {
        guard case .vector(let vector) = try await ask(.head) else {
            throw ServeClient.unexpected
        }
        return vector
    }

    /// The bytes of a batch.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
        guard case .bytes(let bytes) = try await ask(.fetch(item.name)) else {
            throw ServeClient.unexpected
        }
        return bytes
    }

    /// Adds a batch.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func append(_ batch: [UInt8]) async throws {
        guard case .done = try await ask(.append(batch)) else { throw ServeClient.unexpected }
    }

    /// Records what a replica has merged.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {
        guard case .done = try await ask(.acknowledge(replica, vector)) else {
            throw ServeClient.unexpected
        }
    }

    /// The vectors that replicas have acknowledged.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        guard case .acknowledged(let vectors) = try await ask(.acknowledged) else {
            throw ServeClient.unexpected
        }
        return vectors
    }

    /// States sums. A server of an earlier version does not know the request: nothing is compared.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {
        do {
            guard case .done = try await ask(.noteSums(replica, sums)) else {
                throw ServeClient.unexpected
            }
        } catch let error as SyncError where error.code == .newerFormat {
            return
        }
    }

    /// The sums that replicas have stated; none from a server of an earlier version.
    /// - Throws: `unreachable`, `badData`; what the other store reports.
    package func notedSums() async throws -> [ReplicaID: [UInt8]] {
        do {
            guard case .sums(let sums) = try await ask(.notedSums) else {
                throw ServeClient.unexpected
            }
            return sums
        } catch let error as SyncError where error.code == .newerFormat {
            return [:]
        }
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
        } catch let failure as ServeClient.PeerFailure {
            if failure.error.code == .unreachable || failure.error.code == .badData { drop() }
            throw Self.told(failure.error, by: address)
        } catch let error as SyncError {
            if error.code == .unreachable || error.code == .badData { drop() }
            throw Self.explained(error, of: address)
        } catch {
            drop()
            throw error
        }
    }

    private func connected() async throws -> ServeClient {
        if let client { return client }
        let address = address
        let client = try ServeClient(command, timeouts: timeouts) { end, message in
            Self.failure(of: address, end: end, lastMessage: message)
        }
        do {
            let peer = try await client.greeting()
            if let store, peer.store != store {
                throw SyncError(
                    // The id is for the one who runs the command: the reason is shown to others.
                    .refused, "\(address) is another store",
                    hint: "Check the address; or join that store (\(peer.store)): "
                        + "synctool remote remove DB NAME "
                        + "then synctool remote add DB NAME "
                        + "\(Shell.quoted("\(address)")) --join by-key")
            }
            self.peer = peer
            self.client = client
            return client
        } catch let failure as ServeClient.PeerFailure {
            client.close()
            throw Self.told(failure.error, by: address)
        } catch let error as SyncError {
            client.close()
            throw Self.explained(error, of: address)
        } catch {
            client.close()
            throw error
        }
    }

    /// An error that no other part of the program has explained: what the other side sent is not
    /// what a store sends.
    private static func explained(_ error: SyncError, of address: SSHAddress) -> SyncError {
        guard error.hint == nil, error.code == .badData else { return error }
        return SyncError(
            .badData, "\(address) sent what is no valid answer: \(error.reason)",
            hint: "Check that this prints a version and nothing else: "
                + "\(address.login) synctool --version")
    }

    /// An error that the other side reported. Nobody should take another machine's words for the
    /// program's own, or its files for those of this machine.
    private static func told(_ error: SyncError, by address: SSHAddress) -> SyncError {
        let reason = error.reason.isEmpty ? "an error without a reason" : error.reason
        // A fault, or an error with a name that only a later version knows, is that program's.
        let isForeign = !SyncError.Code.ofStores.contains(error.code)
        let file = error.path.map { $0 == address.path ? "" : " (of the file \($0) there)" } ?? ""
        return SyncError(
            isForeign ? .unreachable : error.code,
            "\(address): the other side says\(file): \(reason)",
            hint: error.hint.map { "The other side says: " + $0 }
                ?? "Look at the store there: \(address.login) synctool doctor "
                + Shell.quoted(address.path))
    }

    /// The error for a connection that ended, with the last message of ssh.
    private static func failure(
        of address: SSHAddress, end: SpawnedProcess.End, lastMessage: String?
    ) -> SyncError {
        let message = lastMessage.map { ": \($0)" } ?? ""
        switch end {
        case .timedOut(let timeout):
            return SyncError(
                .unreachable,
                "\(address) sent nothing for \(timeout.components.seconds) s\(message)",
                hint: "Try again, or test the connection: \(address.login) true")
        case .unfinished(let time):
            return SyncError(
                .unreachable,
                "\(address) was not done after \(time.components.seconds) s\(message)",
                hint: "Try again; if it is as slow as that, allow more seconds: "
                    + "\(SSHOptions.timeoutVariable)=300 synctool sync DB")
        case .exited(127):
            return SyncError(
                .unreachable, "synctool was not found on \(address.host)\(message)",
                hint: "Install it there, or give its path: "
                    + "synctool remote add DB NAME \(Shell.quoted("\(address)")) --synctool PATH")
        case .exited(255):
            return SyncError(
                .unreachable, "ssh to \(address.host) failed\(message)",
                hint: "Check that this works without a prompt: \(address.login) true")
        case .exited(let status):
            return SyncError(
                .unreachable,
                "the connection to \(address) ended with status \(status)\(message)",
                hint: "Check that this works: \(address.login) synctool --version")
        case .killed(let signal):
            return SyncError(
                .unreachable,
                "the connection to \(address.host) was ended by signal \(signal)\(message)",
                hint: "Try again")
        }
    }
}

extension SyncError.Code {
    /// The errors that the other store may report as they are: their exit status says what to do.
    fileprivate static let ofStores: Set<SyncError.Code> = [
        .noSuchFile, .notADatabase, .corrupt, .readOnly, .notAllowed, .busy, .diskFull, .ioError,
        .notTracked, .storeDamaged, .newerFormat, .cannotTrack, .storeReplaced, .storeRemoved,
        .unreachable, .badData, .notSigned, .forked, .impostor, .notMember, .refused, .diverged,
    ]
}
