import ArgumentParser

/// The command itself; each subcommand has a file.
struct Synctool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "synctool",
        abstract: "Persistent history, change notices and sync for SQLite databases.",
        discussion: """
            Start with `synctool demo`, or with a database of your own: \
            `synctool track music.db`, then `synctool watch music.db` in one terminal and a write \
            in another.

            Commands ask the daemon syncd when it runs, and work on the file themselves when it \
            does not.

            Exit status: 0 done, 1 refused by the data, 64 usage, 65 bad data, 66 no such file, \
            69 daemon or remote not reachable, 75 try again, 77 not allowed, 78 configuration.
            """,
        version: Version.text,
        subcommands: [
            Track.self, Untrack.self, Status.self, History.self, Watch.self, Consumers.self,
            Purge.self, Revert.self, Restore.self, Remote.self, Push.self, Pull.self, Sync.self,
            Clone.self, Conflicts.self, Policy.self, Key.self, Serve.self, Doctor.self, Alter.self,
            Demo.self,
        ])
}

/// The version of syncd and synctool.
enum Version {
    static let text = "0.1.0"
}
