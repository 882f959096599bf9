extension String {
    /// The beginning of an untrusted text, for an error message: control and format
    /// characters are escaped, so that a terminal shows them and obeys none.
    /// - Parameter countMax: Unicode scalars that are shown; an ellipsis replaces the rest.
    package func printable(countMax: Int) -> String {
        var text = ""
        for scalar in unicodeScalars.prefix(countMax) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.count > countMax ? text + "…" : text
    }
}
