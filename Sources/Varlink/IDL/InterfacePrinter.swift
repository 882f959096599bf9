extension Interface: CustomStringConvertible {
    /// The definition in canonical layout. Parsing it gives an equal interface.
    public var description: String {
        var printer = InterfacePrinter()
        printer.print(self)
        return printer.text
    }
}

/// Formats a definition: two spaces of indent; one line where it fits and has no documentation
/// inside.
private struct InterfacePrinter {
    /// The maximum columns of a line with several fields.
    static let columnMax = 80

    private(set) var text = ""

    mutating func print(_ interface: Interface) {
        comments(interface.documentation, indent: "")
        text += "interface \(interface.name)\n"
        for member in interface.members {
            text += "\n"
            print(member)
            text += "\n"
        }
        if !interface.trailingComments.isEmpty { text += "\n" }
        comments(interface.trailingComments, indent: "")
    }

    private mutating func print(_ member: Interface.Member) {
        switch member {
        case .type(let type):
            comments(type.documentation, indent: "")
            append(
                head: "type \(type.name) ", [type.type], indent: "")
        case .method(let method):
            comments(method.documentation, indent: "")
            append(
                head: "method \(method.name)",
                [.structure(method.input), .structure(method.output)], indent: "")
        case .error(let error):
            comments(error.documentation, indent: "")
            append(head: "error \(error.name) ", [.structure(error.parameters)], indent: "")
        }
    }

    private mutating func append(head: String, _ types: [TypeReference], indent: String) {
        let inline = head + types.map { $0.inline }.joined(separator: " -> ")
        if inline.count <= Self.columnMax, !types.contains(where: \.hasDocumentation) {
            text += inline
            return
        }
        text += head
        for (index, type) in types.enumerated() {
            if index > 0 { text += " -> " }
            append(type, indent: indent)
        }
    }

    /// A type on several lines; parts that fit stay on one.
    private mutating func append(_ type: TypeReference, indent: String) {
        switch type {
        case .array(let element): append(prefix: "[]", element, indent: indent)
        case .map(let element): append(prefix: "[string]", element, indent: indent)
        case .optional(let element): append(prefix: "?", element, indent: indent)
        case .structure(let fields) where !fields.isEmpty:
            list(fields, indent: indent) { printer, field, indent in
                printer.comments(field.documentation, indent: indent)
                printer.text += indent
                let head = "\(field.name): "
                let fits = indent.count + head.count + field.type.inline.count < Self.columnMax
                printer.text += head
                if fits, !field.type.hasDocumentation {
                    printer.text += field.type.inline
                } else {
                    printer.append(field.type, indent: indent)
                }
            }
        case .enumeration(let cases):
            list(cases, indent: indent) { printer, item, indent in
                printer.comments(item.documentation, indent: indent)
                printer.text += indent + item.name
            }
        default: text += type.inline
        }
    }

    private mutating func append(prefix: String, _ type: TypeReference, indent: String) {
        text += prefix
        append(type, indent: indent)
    }

    private mutating func list<Item>(
        _ items: [Item], indent: String, print: (inout Self, Item, String) -> Void
    ) {
        text += "(\n"
        for (index, item) in items.enumerated() {
            print(&self, item, indent + "  ")
            text += index == items.count - 1 ? "\n" : ",\n"
        }
        text += indent + ")"
    }

    private mutating func comments(_ lines: [String], indent: String) {
        for line in lines { text += line.isEmpty ? "\(indent)#\n" : "\(indent)# \(line)\n" }
    }
}

extension TypeReference {
    /// The type on one line, without documentation.
    fileprivate var inline: String {
        switch self {
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .string: "string"
        case .object: "object"
        case .named(let name): name
        case .array(let element): "[]" + element.inline
        case .map(let element): "[string]" + element.inline
        case .optional(let element): "?" + element.inline
        case .structure(let fields):
            "(" + fields.map { "\($0.name): \($0.type.inline)" }.joined(separator: ", ") + ")"
        case .enumeration(let cases):
            "(" + cases.map(\.name).joined(separator: ", ") + ")"
        }
    }

    fileprivate var hasDocumentation: Bool {
        switch self {
        case .array(let element), .map(let element), .optional(let element):
            element.hasDocumentation
        case .structure(let fields):
            fields.contains { !$0.documentation.isEmpty || $0.type.hasDocumentation }
        case .enumeration(let cases):
            cases.contains { !$0.documentation.isEmpty }
        default: false
        }
    }
}
