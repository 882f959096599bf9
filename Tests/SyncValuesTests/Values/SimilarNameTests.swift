import SyncValues
import Testing

/// What a hint proposes for a name that there is not.
@Suite struct SimilarNameTests {
    private let tables = ["Album", "Artist", "Invoice", "InvoiceLine", "MediaType"]

    @Test(arguments: [
        ("Albun", "Album"), ("ALBUM", "Album"), ("Ablum", "Album"), ("Invoise", "Invoice"),
        ("MediaTpye", "MediaType"), ("invoicelin", "InvoiceLine"), ("lbum", "Album"),
    ])
    func typingErrors(word: String, meant: String) {
        #expect(SimilarName.nearest(to: word, among: tables) == meant)
    }

    @Test(arguments: ["", "x", "Alb", "Track", "Customer", String(repeating: "Album", count: 99)])
    func nothingIsSimilar(word: String) {
        #expect(SimilarName.nearest(to: word, among: tables) == nil)
    }

    @Test func hintsListTheNames() {
        #expect(
            SimilarName.hint("Albun", among: tables, title: "Its tables are")
                == "Did you mean 'Album'? "
                + "Its tables are: Album, Artist, Invoice, InvoiceLine, MediaType")
        let many = (1...30).map { "t\($0)" }
        let hint = SimilarName.hint("x", among: many, title: "Its tables are")
        #expect(hint.hasSuffix(" and 10 more"))
    }

    @Test func unknownNamesOfTablesAndColumns() {
        let table = SyncError.unknownEntity("Albun", among: tables)
        #expect(table.code == .unknownEntity && table.hint?.contains("'Album'") == true)
        let column = SyncError.unknownProperty("Titel", of: "Album", among: ["AlbumId", "Title"])
        #expect(column.reason == "Album has no column 'Titel'")
        #expect(column.hint == "Did you mean 'Title'? Its columns are: AlbumId, Title")
    }
}
