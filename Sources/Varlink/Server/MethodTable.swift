/// All methods of a server by qualified name, `org.varlink.service` among them. Immutable.
struct MethodTable: Sendable {
    struct Entry: Sendable {
        let handler: ServedInterface.Handler
        let input: [Field]
        let checker: TypeChecker
    }

    private let entries: [String: Entry]
    private let interfaces: Set<String>

    /// - Throws: `TransportError` (`invalidInterface`), `InterfaceError`.
    init(info: ServiceInfo, interfaces served: [ServedInterface]) throws {
        var entries: [String: Entry] = [:]
        var names: Set<String> = []
        let all = [try Self.serviceInterface(info, with: served)] + served
        for one in all {
            try one.checkHandlers()
            guard names.insert(one.interface.name).inserted else {
                throw TransportError(
                    .invalidInterface, "\(one.interface.name) is registered twice")
            }
            let checker = TypeChecker(one.interface)
            for method in one.interface.methods {
                guard let handler = one.handlers[method.name] else { continue }
                entries["\(one.interface.name).\(method.name)"] = Entry(
                    handler: handler, input: method.input, checker: checker)
            }
        }
        self.entries = entries
        interfaces = names
    }

    /// The method that `call` names. Its parameters are checked.
    func entry(for call: CallMessage) throws(VarlinkError) -> Entry {
        guard let entry = entries[call.method] else {
            let interface = call.method.lastIndex(of: ".").map { String(call.method[..<$0]) } ?? ""
            throw interfaces.contains(interface)
                ? .methodNotFound(call.method) : .interfaceNotFound(interface)
        }
        if call.upgrade { throw .invalidParameter("upgrade") }
        if case .stream(_, requiresMore: true) = entry.handler, !call.more {
            throw .expectedMore
        }
        do {
            try entry.checker.check(call.parameters, against: entry.input)
        } catch {
            throw .invalidParameter(error.field)
        }
        return entry
    }

    private static func serviceInterface(
        _ info: ServiceInfo, with served: [ServedInterface]
    ) throws -> ServedInterface {
        var service = try ServedInterface(serviceDefinition)
        let names = [service.interface.name] + served.map(\.interface.name)
        let descriptions = Dictionary(
            ([service] + served).map { ($0.interface.name, $0.text) },
            uniquingKeysWith: { first, _ in first })
        let answer: JSONObject = [
            "vendor": .string(info.vendor), "product": .string(info.product),
            "version": .string(info.version), "url": .string(info.url),
            "interfaces": .array(names.map(JSONValue.string)),
        ]
        service.onImmediate("GetInfo") { _ in answer }
        service.onImmediate("GetInterfaceDescription") { call in
            let name = call.parameters["interface"]?.string ?? ""
            guard let text = descriptions[name] else { throw VarlinkError.interfaceNotFound(name) }
            return ["description": .string(text)]
        }
        return service
    }

    private static let serviceDefinition = """
        # Every varlink service has this interface: it describes the service and its interfaces.
        interface org.varlink.service

        # Describes the implementation, and lists the interfaces.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # Returns the definition of an interface.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The service does not have this interface.
        error InterfaceNotFound (interface: string)

        # The interface does not have this method.
        error MethodNotFound (method: string)

        # The interface has this method, but the service does not implement it.
        error MethodNotImplemented (method: string)

        # A parameter is missing, unknown or of the wrong type.
        error InvalidParameter (parameter: string)

        # The caller has no permission for this call.
        error PermissionDenied ()

        # The method must be called with `more`.
        error ExpectedMore ()

        """
}
