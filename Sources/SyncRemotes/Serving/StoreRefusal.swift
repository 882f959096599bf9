import SyncCore

/// The server side without a store: reports why it cannot be served.
package enum StoreRefusal {
    /// Sends the greeting with an error instead of an identity. A client that has disconnected is
    /// ignored.
    package static func send(_ error: SyncError, input: Int32, output: Int32) async {
        let line = ServerLine(FrameChannel(input: input, output: output))
        try? await line.greet(.failure(error))
    }
}
