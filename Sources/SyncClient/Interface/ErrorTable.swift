import SyncCore

/// What each error code is called on the wire, and with which status a command ends for it: the
/// one table that the daemon, the client and the tool go by.
public enum ErrorTable {
    /// One code with its names.
    public struct Row: Sendable {
        /// The code.
        public let code: SyncError.Code
        /// The name of the varlink error, without the interface.
        public let error: String
        /// The exit status of a command, from `sysexits.h` where it has one.
        public let exitStatus: Int32

        init(_ code: SyncError.Code, _ exitStatus: Int32) {
            self.code = code
            self.exitStatus = exitStatus
            self.error = code.name.prefix(1).uppercased() + code.name.dropFirst()
        }
    }

    /// Every code of ``SyncError``.
    public static let rows: [Row] = [
        Row(.noSuchFile, 66),
        Row(.notADatabase, 65),
        Row(.corrupt, 65),
        Row(.readOnly, 77),
        Row(.notAllowed, 77),
        Row(.busy, 75),
        Row(.diskFull, 75),
        Row(.notTracked, 1),
        Row(.storeDamaged, 1),
        Row(.newerFormat, 1),
        Row(.cannotTrack, 1),
        Row(.unknownStore, 66),
        Row(.unknownEntity, 1),
        Row(.unknownObject, 1),
        Row(.unknownConsumer, 1),
        Row(.invalidToken, 65),
        Row(.historyExpired, 1),
        Row(.foreignHistory, 1),
        Row(.stillNeeded, 1),
        Row(.invalidArgument, 64),
        Row(.storeReplaced, 1),
        Row(.storeRemoved, 66),
        Row(.unreachable, 69),
        Row(.badData, 65),
        Row(.refused, 1),
        Row(.internalFault, 70),
    ]

    /// The full name of the varlink error for a code. Codes that the table does not know (an open
    /// set) travel as `InternalFault`.
    public static func varlinkError(for code: SyncError.Code) -> String {
        StoreInterface.method((byCode[code] ?? fault).error)
    }

    /// The code of a varlink error of this interface; nil for any other.
    public static func code(ofVarlinkError name: String) -> SyncError.Code? {
        let prefix = StoreInterface.name + "."
        guard name.hasPrefix(prefix) else { return nil }
        return byError[String(name.dropFirst(prefix.count))]
    }

    /// The code with this ``SyncError/Code/name``; nil when there is none.
    public static func code(named name: String) -> SyncError.Code? {
        rows.first { $0.code.name == name }?.code
    }

    /// The exit status of a command that ends with an error.
    public static func exitStatus(for code: SyncError.Code) -> Int32 {
        (byCode[code] ?? fault).exitStatus
    }

    private static let fault = Row(.internalFault, 70)
    private static let byCode = Dictionary(uniqueKeysWithValues: rows.map { ($0.code, $0) })
    private static let byError = Dictionary(uniqueKeysWithValues: rows.map { ($0.error, $0.code) })
}
