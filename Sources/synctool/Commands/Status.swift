import ArgumentParser

/// `synctool status [DB]`
struct Status: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a store, or all stores of the daemon.")

    @Argument(
        help: ArgumentHelp("The database file; all of the daemon's without.", valueName: "db"))
    var path: String?

    @OptionGroup var common: CommonOptions
    var database: String? { path }

    func validate() throws {
        if path == nil && common.direct {
            throw ValidationError("--direct needs a database file.")
        }
    }

    mutating func run() async throws {
        if let path {
            let report = try await Access.open(path, common).status()
            if common.json { return try Terminal.output.json(report.json) }
            let typed = TypedPath(path)
            for line in StatusText.lines(report, named: path) {
                try Terminal.output.line(typed.fillingIn(line))
            }
            return
        }
        let stores = try await Access.daemon(common).stores()
        if common.json {
            for store in stores { try Terminal.output.json(store.jsonObject) }
            return
        }
        if stores.isEmpty { try Terminal.output.line("the daemon has no stores") }
        for line in StatusText.list(stores) { try Terminal.output.line(line) }
    }
}
