/// A text as a key: two are equal when their bytes are.
///
/// Swift's own equality takes composed and decomposed letters for equal, and the sign of the unit
/// kelvin for the letter K. To the file system these are the paths of two files, and to SQLite the
/// names of two rows: what belongs to one must not be found under the other.
package struct ExactText: Hashable, Comparable, Sendable {
    /// The text, as it was given.
    package let text: String

    /// The key of a text.
    package init(_ text: String) { self.text = text }

    /// Equal bytes.
    package static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.hasBytes(of: right.text)
    }

    /// In the order of the bytes, which is that of the Unicode scalars.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.precedesInBytes(right.text)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(text.utf8.count)
    }
}

extension String {
    /// Whether this text is before another one in the order of their bytes.
    package func precedesInBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}
