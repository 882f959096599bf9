/// The statements that other processes run in the tour, and the objects that its client holds.
struct TourSubjects: Sendable {
    /// Objects that the client holds, for example `Album/348`.
    let held: [String]
    /// Changes one held object.
    let update: String
    /// Deletes another one.
    let delete: String
    /// Statements that run while the daemon is down; each is one transaction.
    let away: [String]

    /// For the database that the tour creates.
    static let own = TourSubjects(
        held: ["Album/1", "Album/2", "Song/4"],
        update: "UPDATE Album SET Title = 'Blue Train (Remastered)' WHERE AlbumId = 1",
        delete: "DELETE FROM Album WHERE AlbumId = 2",
        away: [
            "INSERT INTO Album VALUES (4, 'Giant Steps', 1960)",
            "UPDATE Album SET Year = 1958 WHERE AlbumId = 1",
            "DELETE FROM Song WHERE SongId = 1",
        ])

    /// A small database with a foreign key that cascades.
    static let ownSchema = """
        CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT NOT NULL, Year INTEGER);
        CREATE TABLE Song(SongId INTEGER PRIMARY KEY, Title TEXT NOT NULL,
          AlbumId INTEGER REFERENCES Album(AlbumId) ON DELETE CASCADE);
        INSERT INTO Album VALUES (1, 'Blue Train', 1957), (2, 'Kind of Blue', 1959),
          (3, 'Mingus Ah Um', 1959);
        INSERT INTO Song VALUES (1, 'Blue Train', 1), (2, 'Locomotion', 1), (3, 'So What', 2),
          (4, 'All Blues', 2), (5, 'Better Git It in Your Soul', 3);
        """
}
