import SyncCore

/// The name of each error code on the wire, and the exit status of a command for it: the one table
/// for the daemon, the client and the tool.
public enum ErrorTable {
    /// One code with its names.
    public struct Row: Sendable {
        /// The code.
        public let code: SyncError.Code
        /// The name of the varlink error, without the interface.
        public let error: String
        /// The exit status of a command, from `sysexits.h` where it has one.
        public let exitStatus: Int32

        init(_ code: SyncError.Code, exitStatus: Int32) {
            self.code = code
            self.exitStatus = exitStatus
            self.error = code.name.prefix(1).uppercased() + code.name.dropFirst()
        }
    }

    /// Every code of ``SyncError``.
    public static let rows: [Row] = [
        Row(.noSuchFile, exitStatus: 66),
        Row(.notADatabase, exitStatus: 65),
        Row(.corrupt, exitStatus: 65),
        Row(.readOnly, exitStatus: 77),
        Row(.notAllowed, exitStatus: 77),
        Row(.busy, exitStatus: 75),
        Row(.diskFull, exitStatus: 75),
        Row(.ioError, exitStatus: 74),
        Row(.notTracked, exitStatus: 1),
        Row(.storeDamaged, exitStatus: 1),
        Row(.newerFormat, exitStatus: 1),
        Row(.cannotTrack, exitStatus: 1),
        Row(.unknownStore, exitStatus: 66),
        Row(.unknownEntity, exitStatus: 1),
        Row(.unknownObject, exitStatus: 1),
        Row(.unknownConsumer, exitStatus: 1),
        Row(.invalidToken, exitStatus: 65),
        Row(.historyExpired, exitStatus: 1),
        Row(.foreignHistory, exitStatus: 1),
        Row(.stillNeeded, exitStatus: 1),
        Row(.invalidArgument, exitStatus: 64),
        Row(.storeReplaced, exitStatus: 1),
        Row(.storeRemoved, exitStatus: 66),
        Row(.unreachable, exitStatus: 69),
        Row(.badData, exitStatus: 65),
        Row(.notSigned, exitStatus: 65),
        Row(.forked, exitStatus: 1),
        Row(.impostor, exitStatus: 1),
        Row(.notMember, exitStatus: 77),
        Row(.refused, exitStatus: 1),
        Row(.diverged, exitStatus: 1),
        Row(.internalFault, exitStatus: 70),
    ]

    /// The full name of the varlink error for a code. Codes that the table does not know (an open
    /// set) are sent as `InternalFault`.
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

    private static let fault = Row(.internalFault, exitStatus: 70)
    private static let byCode = Dictionary(uniqueKeysWithValues: rows.map { ($0.code, $0) })
    private static let byError = Dictionary(uniqueKeysWithValues: rows.map { ($0.error, $0.code) })
}
