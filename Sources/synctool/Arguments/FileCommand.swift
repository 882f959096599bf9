/// A command that works on the database file itself, also while the daemon runs. It has no
/// ``AccessOptions``, and its help ends with ``FileCommandHelp/note``.
protocol FileCommand: StoreCommand {}
