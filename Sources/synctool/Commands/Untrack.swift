import ArgumentParser
import SyncCore

/// `synctool untrack DB`
struct Untrack: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove history, triggers and log from a database.",
        discussion: """
            Deletes the history, including what consumers have not read. The database's own tables \
            are not changed.
            """)

    @Argument(
        help: ArgumentHelp("The database file.", valueName: "db"), completion: .file())
    var path: String

    @Flag(
        help: "Only remove the store from the daemon; the file is not changed, and may be missing.")
    var forget = false

    @OptionGroup var space: FreeSpace
    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    func validate() throws {
        if forget && access.isDirect {
            throw ValidationError("--forget needs the daemon: leave --direct out.")
        }
        if forget && space.isReturned {
            throw ValidationError("--forget and --vacuum exclude each other.")
        }
    }

    mutating func run() async throws {
        var left: [String] = []
        if forget {
            try await Access.daemon(using: access).forget(path)
        } else {
            left = try await untrack()
        }
        for object in left {
            try Terminal.error.line("\(path): not removed: \(object) was not created by syncd")
        }
        if !output.isJSON {
            try Terminal.output.line(
                forget
                    ? "\(path): removed from the daemon; the file was not changed"
                    : "\(path): no longer tracked; its history was deleted")
        }
        if forget { return }
        let lines = try await space.settle(path).lines
        guard !output.isJSON else { return }
        for line in lines { try Terminal.output.line(line) }
    }

    private func untrack() async throws -> [String] {
        do {
            return try await ProgressLine.during("untrack") {
                try await Access.open(path, using: access).untrack()
            }
        } catch var error as SyncError where error.code == .notTracked {
            error.hint = "There is nothing to remove"
            throw error
        }
    }
}
