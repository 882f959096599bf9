import Logging

extension Logger {
    /// For a library that would log its own inner workings to the operator.
    static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
