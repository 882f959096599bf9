import SyncCore
import Testing

@testable import synctool

@Suite("Paths in messages")
struct PathTests {
    @Test(
        arguments: [
            ("music.db", "music.db"), ("/srv/a b.db", "'/srv/a b.db'"), ("it's.db", "\"it's.db\""),
            ("it's $5.db", "'it'\\''s $5.db'"), ("'\u{301}; $a", "''\\''\u{301}; $a'"),
            ("", "''"), ("größe.db", "größe.db"), ("$HOME", "'$HOME'"),
            ("a\nb", "$'a\\012b'"), ("\u{1B}'\\\u{7F}", "$'\\033\\'\\\\\\177'"),
        ])
    func shellWords(word: String, quoted: String) {
        #expect(Shell.quoted(word) == quoted)
    }

    @Test func absolutePathBecomesTheTypedOne() {
        let typed = TypedPath("music.db")
        let absolute = StorePath.absolute("music.db")
        #expect(absolute.hasPrefix("/"))
        #expect(typed.naming("open \(absolute): gone") == "open music.db: gone")
        #expect(TypedPath(nil).naming(absolute) == absolute)
    }

    @Test func hintsNameTheFile() {
        let typed = TypedPath("my music.db")
        #expect(
            typed.fillingIn("Run: synctool track DB") == "Run: synctool track 'my music.db'")
        #expect(
            typed.fillingIn("synctool untrack DB, then: ls -l DB*")
                == "synctool untrack 'my music.db', then: ls -l 'my music.db'*")
        #expect(typed.fillingIn("the DBMS") == "the DBMS")
        #expect(TypedPath(nil).fillingIn("synctool track DB") == "synctool track DB")
    }
}
