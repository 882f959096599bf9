import ArgumentParser
import SyncReplica

/// `synctool status [DB]`
struct Status: StoreCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the status of a store, or of all stores of the daemon.")

    @Argument(
        help: ArgumentHelp(
            "The database file (default: all stores of the daemon).", valueName: "db"))
    var path: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var access: AccessOptions
    var database: String? { path }

    func validate() throws {
        if path == nil && access.isDirect {
            throw ValidationError("--direct needs a database file.")
        }
    }

    mutating func run() async throws {
        if let path {
            var report = try await Access.open(path, using: access).status()
            report.comparisons = (try? Store.comparisons(StorePath.absolute(path))) ?? []
            report.names = (try? Store.replicaNames(StorePath.absolute(path))) ?? KnownNames()
            report.hiddenRows = (try? Store.hiddenRowCount(StorePath.absolute(path))) ?? 0
            report.defaults =
                (try? StoreReplica.differentDefaults(StorePath.absolute(path))) ?? []
            report.waiting = (try? StoreReplica.waiting(StorePath.absolute(path))) ?? []
            if output.isJSON { return try Terminal.output.json(report.json) }
            let typed = TypedPath(path)
            for line in StatusText.lines(report, named: path) {
                try Terminal.output.line(typed.fillingIn(line))
            }
            return
        }
        let stores = try await Access.daemon(using: access).all()
        if output.isJSON {
            for store in stores { try Terminal.output.json(store.jsonObject) }
            return
        }
        if stores.isEmpty {
            try Terminal.output.line("the daemon has no stores; to add one: synctool track FILE")
        }
        for line in StatusText.list(stores) { try Terminal.output.line(line) }
    }
}
