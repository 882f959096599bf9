/// The text that the help of every ``FileCommand`` contains.
enum FileCommandHelp {
    static let note =
        "Works on the database file itself, also while the daemon runs; takes neither --socket nor "
        + "--direct."
}
