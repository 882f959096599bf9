import SyncClient
import SyncCore
import Varlink

/// The parameters of a call. Their types are those of the interface: the server has checked them.
struct Arguments {
    let peer: PeerIdentity
    private let parameters: JSONObject

    init(_ call: IncomingCall) {
        peer = call.peer
        parameters = call.parameters
    }

    /// The name of the store.
    var store: String { parameters["store"]?.string ?? "" }

    /// A parameter that the interface requires.
    ///
    /// - Throws: `invalidArgument` when it is missing.
    func string(_ name: String) throws -> String {
        guard let text = parameters[name]?.string else {
            throw SyncError(.invalidArgument, "the parameter '\(name)' is missing")
        }
        return text
    }

    func optionalString(_ name: String) -> String? { parameters[name]?.string }

    func integer(_ name: String) -> Int64? { parameters[name]?.integer }

    func object(_ name: String) -> JSONObject? { parameters[name]?.object }

    func flag(_ name: String) -> Bool { parameters[name]?.bool ?? false }

    /// Absent: nil.
    func strings(_ name: String) -> [String]? {
        parameters[name]?.array.map { $0.compactMap(\.string) }
    }

    /// `query`; the whole history when it is absent.
    func query() throws -> HistoryQuery {
        try HistoryQuery(jsonObject: parameters["query"]?.object ?? [:])
    }

    func options() throws -> SubscriptionOptions {
        try SubscriptionOptions(jsonObject: parameters)
    }

    /// `objects`; nil when it is absent.
    func objects() throws -> [ObjectName]? {
        try strings("objects")?.map { try .init(held: $0) }
    }

    func consumerKind() throws -> Consumer.Kind {
        guard let text = optionalString("kind") else { return .reader }
        guard let kind = Consumer.Kind(rawValue: text) else {
            throw SyncError(
                .invalidArgument, "'\(text.prefix(80))' is not a kind of consumer",
                hint: "Kinds are reader, writer and peer")
        }
        return kind
    }

    func trackEntry() throws -> Configuration.StoreEntry {
        var entry = Configuration.StoreEntry(path: try string("path"))
        entry.entities = strings("entities") ?? []
        entry.undo = strings("undo") ?? []
        switch optionalString("keep") ?? "all" {
        case "all": break
        case "none": entry.keepsValues = false
        default:
            throw SyncError(
                .invalidArgument, "keep is neither 'all' nor 'none'", hint: "Leave it out for all")
        }
        return entry
    }
}
