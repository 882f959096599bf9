-- A music shop in the shape of the public Chinook sample: the same eleven tables, integer keys, foreign
-- keys and composite key, with made-up rows. Deterministic: every run makes the same database.
PRAGMA foreign_keys = ON;
BEGIN;
CREATE TABLE Artist(
    ArtistId INTEGER NOT NULL PRIMARY KEY,
    Name NVARCHAR(120));
CREATE TABLE Album(
    AlbumId INTEGER NOT NULL PRIMARY KEY,
    Title NVARCHAR(160) NOT NULL,
    ArtistId INTEGER NOT NULL REFERENCES Artist(ArtistId));
CREATE TABLE Genre(GenreId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE MediaType(MediaTypeId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE Track(
    TrackId INTEGER NOT NULL PRIMARY KEY,
    Name NVARCHAR(200) NOT NULL,
    AlbumId INTEGER REFERENCES Album(AlbumId),
    MediaTypeId INTEGER NOT NULL REFERENCES MediaType(MediaTypeId),
    GenreId INTEGER REFERENCES Genre(GenreId),
    Composer NVARCHAR(220),
    Milliseconds INTEGER NOT NULL,
    Bytes INTEGER,
    UnitPrice NUMERIC(10,2) NOT NULL);
CREATE TABLE Employee(
    EmployeeId INTEGER NOT NULL PRIMARY KEY,
    LastName NVARCHAR(20) NOT NULL,
    FirstName NVARCHAR(20) NOT NULL,
    Title NVARCHAR(30),
    ReportsTo INTEGER REFERENCES Employee(EmployeeId),
    BirthDate DATETIME, HireDate DATETIME,
    Address NVARCHAR(70), City NVARCHAR(40), State NVARCHAR(40), Country NVARCHAR(40),
    PostalCode NVARCHAR(10), Phone NVARCHAR(24), Fax NVARCHAR(24), Email NVARCHAR(60));
CREATE TABLE Customer(
    CustomerId INTEGER NOT NULL PRIMARY KEY,
    FirstName NVARCHAR(40) NOT NULL,
    LastName NVARCHAR(20) NOT NULL,
    Company NVARCHAR(80),
    Address NVARCHAR(70), City NVARCHAR(40), State NVARCHAR(40), Country NVARCHAR(40),
    PostalCode NVARCHAR(10), Phone NVARCHAR(24), Fax NVARCHAR(24),
    Email NVARCHAR(60) NOT NULL,
    SupportRepId INTEGER REFERENCES Employee(EmployeeId));
CREATE TABLE Invoice(
    InvoiceId INTEGER NOT NULL PRIMARY KEY,
    CustomerId INTEGER NOT NULL REFERENCES Customer(CustomerId),
    InvoiceDate DATETIME NOT NULL,
    BillingAddress NVARCHAR(70), BillingCity NVARCHAR(40), BillingState NVARCHAR(40),
    BillingCountry NVARCHAR(40), BillingPostalCode NVARCHAR(10),
    Total NUMERIC(10,2) NOT NULL);
CREATE TABLE InvoiceLine(
    InvoiceLineId INTEGER NOT NULL PRIMARY KEY,
    InvoiceId INTEGER NOT NULL REFERENCES Invoice(InvoiceId),
    TrackId INTEGER NOT NULL REFERENCES Track(TrackId),
    UnitPrice NUMERIC(10,2) NOT NULL,
    Quantity INTEGER NOT NULL);
CREATE TABLE Playlist(PlaylistId INTEGER NOT NULL PRIMARY KEY, Name NVARCHAR(120));
CREATE TABLE PlaylistTrack(
    PlaylistId INTEGER NOT NULL REFERENCES Playlist(PlaylistId),
    TrackId INTEGER NOT NULL REFERENCES Track(TrackId),
    PRIMARY KEY (PlaylistId, TrackId));
CREATE INDEX AlbumArtist ON Album(ArtistId);
CREATE INDEX TrackAlbum ON Track(AlbumId);
CREATE INDEX TrackGenre ON Track(GenreId);
CREATE INDEX InvoiceCustomer ON Invoice(CustomerId);
CREATE INDEX InvoiceLineInvoice ON InvoiceLine(InvoiceId);
CREATE INDEX InvoiceLineTrack ON InvoiceLine(TrackId);
CREATE INDEX PlaylistTrackTrack ON PlaylistTrack(TrackId);

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 275)
INSERT INTO Artist SELECT i, 'Artist ' || i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 347)
INSERT INTO Album SELECT i, 'Album ' || i || ' · Größe ' || (i * 7919 % 997), 1 + i * 31 % 275 FROM n;
INSERT INTO Genre VALUES (1, 'Rock'), (2, 'Jazz'), (3, 'Metal'), (4, 'Latin'), (5, 'Classical');
INSERT INTO MediaType VALUES (1, 'MPEG audio file'), (2, 'AAC audio file');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3503)
INSERT INTO Track SELECT i, 'Track ' || i, 1 + i * 13 % 347, 1 + i % 2, 1 + i % 5,
    CASE WHEN i % 3 THEN 'Composer ' || (i % 97) END, 100000 + i * 7 % 400000, i * 3137, 0.99 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8)
INSERT INTO Employee(EmployeeId, LastName, FirstName, ReportsTo, HireDate)
    SELECT i, 'Last' || i, 'First' || i, nullif(i / 2, 0), date('2002-01-01', i || ' days') FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 59)
INSERT INTO Customer(CustomerId, FirstName, LastName, Country, Email, SupportRepId)
    SELECT i, 'First' || i, 'Last' || i, CASE i % 2 WHEN 0 THEN 'Brazil' ELSE 'Norway' END,
    'customer' || i || '@example.com', 1 + i % 8 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 412)
INSERT INTO Invoice(InvoiceId, CustomerId, InvoiceDate, Total)
    SELECT i, 1 + i % 59, date('2009-01-01', i || ' days'), round(i % 23 * 0.99, 2) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2240)
INSERT INTO InvoiceLine SELECT i, 1 + i % 412, 1 + i * 17 % 3503, 0.99, 1 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 18)
INSERT INTO Playlist SELECT i, 'Playlist ' || i FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 8714)
INSERT INTO PlaylistTrack SELECT 1 + i / 485, 1 + i * 5 % 3503 FROM n;
COMMIT;
