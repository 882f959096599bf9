import Foundation
import Testing

/// `scripts/sessions.py` runs the console sessions of the pages with the programs of this build.
@Suite("Console sessions in pages", .serialized, .timeLimit(.minutes(10)))
struct SessionTests {
    private func run(_ arguments: [String]) throws -> (status: Int32, text: String) {
        try Workplace.run(
            "/usr/bin/env",
            [
                "python3", Workplace.root.appendingPathComponent("scripts/sessions.py").path,
                "--programs", Workplace.products.path,
            ] + arguments)
    }

    /// README and every page of `docs` that has a session.
    static var pages: [String] {
        let docs = Workplace.root.appendingPathComponent("docs")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: docs.path)) ?? []
        return ["README.md"] + names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
    }

    @Test(arguments: pages)
    func pageShowsWhatTheProgramsPrint(page: String) throws {
        let result = try run([Workplace.root.appendingPathComponent(page).path])
        #expect(result.status == 0, "\(result.text)")
    }

    @Test func aPageThatDiffersIsNamed() throws {
        let workplace = try Workplace()
        let readme = try String(
            contentsOf: Workplace.root.appendingPathComponent("README.md"), encoding: .utf8)
        let copy = workplace.folder.appendingPathComponent("README.md")
        try readme.replacing("2 tables tracked", with: "3 tables tracked")
            .write(to: copy, atomically: true, encoding: .utf8)
        let result = try run(["--quiet-seconds", "2", copy.path])
        #expect(result.status == 1)
        #expect(result.text.contains("$ synctool track music.db"))
        #expect(result.text.contains("3 tables tracked"))
    }
}
