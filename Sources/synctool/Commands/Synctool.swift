import ArgumentParser
import SyncClient

/// The root command. Each subcommand has its own file.
struct Synctool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "synctool",
        abstract: "Persistent history, change notices and sync for SQLite databases.",
        discussion: """
            Start with synctool demo, or with your own database: run synctool track music.db, then \
            run synctool watch music.db in one terminal and write to the database in another.

            track, untrack, status, history, watch, consumers, purge, doctor and forget-sync use \
            the daemon syncd when it runs and has the store, and the file itself otherwise; they \
            take --socket and --direct. metrics, top, config and ui are about the daemon and take \
            --socket. All other commands work on the file itself, also while the daemon runs.

            Exit status: 0 done, 1 refused by the data, 64 usage, 65 bad data, 66 no such file, \
            69 daemon or remote not reachable, 70 internal fault, 74 input/output error, \
            75 try again, 77 not allowed.
            """,
        version: SyncdVersion.current,
        subcommands: [
            Track.self, Untrack.self, Status.self, History.self, Watch.self, Consumers.self,
            Purge.self, Revert.self, Restore.self, Show.self, Diff.self, Blame.self,
            Remote.self, Push.self, Pull.self, Sync.self,
            Clone.self, Upgrade.self, ForgetSync.self, Conflicts.self, Policy.self, Key.self,
            Serve.self, Doctor.self, Top.self, Metrics.self, Config.self, UI.self, Alter.self,
            Schema.self,
            Migrate.self, Demo.self,
        ])
}
