import SyncValues

/// The elements of a JSON array as texts, without reading them further: numbers keep every digit.
package enum JSONArray {
    /// The elements in order; nil when the value is not an array. White space between tokens is
    /// left out.
    /// - Complexity: O(bytes)
    package static func elements(_ value: Value) -> [String]? {
        guard case .text(let text) = value else { return nil }
        var depth = 0
        var isString = false
        var isEscaped = false
        var isOver = false
        var isAfterSpace = false
        var elements: [String] = []
        var element: [UInt8] = []
        for byte in text.utf8 {
            if isString {
                element.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            if [0x20, 0x09, 0x0A, 0x0D].contains(byte) {
                isAfterSpace = true
                continue
            }
            defer { isAfterSpace = false }
            if isOver || (depth == 0 && byte != UInt8(ascii: "[")) { return nil }
            switch byte {
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > 1 { element.append(byte) }
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                if depth > 0 {
                    element.append(byte)
                } else {
                    isOver = true
                    if byte == UInt8(ascii: "}") { return nil }
                }
            case UInt8(ascii: ",") where depth == 1:
                guard !element.isEmpty else { return nil }
                elements.append(String(decoding: element, as: UTF8.self))
                element = []
            default:
                if isAfterSpace, joins(element.last, with: byte) { return nil }
                isString = byte == UInt8(ascii: "\"")
                element.append(byte)
            }
        }
        guard isOver, !isString, !(element.isEmpty && !elements.isEmpty) else { return nil }
        if !element.isEmpty { elements.append(String(decoding: element, as: UTF8.self)) }
        return elements
    }

    /// Whether two bytes that white space divides would become one token without it.
    private static func joins(_ last: UInt8?, with next: UInt8) -> Bool {
        guard let last, next != UInt8(ascii: ":"), next != UInt8(ascii: ",") else { return false }
        return !"[{,:".utf8.contains(last)
    }
}
