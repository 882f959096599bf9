import Testing

@Suite(.timeLimit(.minutes(3))) struct UndoCommandTests {
    @Test func revertAndRestoreBringBackWhatAnotherProcessTookAway() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            try await scene.tool("track", music, "--undo", "Album").expectSuccess()
            let before = try await scene.sql(music, "SELECT * FROM Album WHERE AlbumId < 4")
            try await scene.sql(music, "UPDATE Album SET Title = 'x' WHERE AlbumId < 4")
            let history = try await scene.tool("history", music, "--json")
            let number = try #require(
                history.text.split(separator: "\"number\":").last?.prefix { $0.isNumber })
            try await scene.tool("revert", music, String(number)).expectSuccess()
            #expect(try await scene.sql(music, "SELECT * FROM Album WHERE AlbumId < 4") == before)

            try await scene.sql(music, "INSERT INTO Artist(ArtistId, Name) VALUES (99999, 'Gone')")
            try await scene.sql(music, "DELETE FROM Artist WHERE ArtistId = 99999")
            let restored = try await scene.tool("restore", music, "Artist/99999")
            #expect(restored.text.contains("+ Artist/99999 is back"))
            let name = try await scene.sql(
                music, "SELECT Name FROM Artist WHERE ArtistId = 99999")
            #expect(name.contains("Gone"))

            let again = try await scene.tool("restore", music, "Artist/99999")
            #expect(again.status == 1)
            #expect(again.errors.contains("it is there"))
            let unknown = try await scene.tool("revert", music, "123456")
            #expect(unknown.status == 64)
        }
    }
}
