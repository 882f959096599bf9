import Foundation
import SyncObjects
import SyncTesting
import Testing

@testable import todo

/// The example, by what it draws: on mock data alone, on each of the four containers, and while
/// another process deletes what it shows.
@Suite(.timeLimit(.minutes(2))) @MainActor struct TodoTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A store with the sample tasks, as a bundle would have it.
    private func bundle() throws -> String {
        let path = folder.file("bundle.sqlite").path
        let container = try TodoContainer.file.open(path)
        let context = try container.viewContext
        try todo.TodoModel.fill(context)
        try context.save()
        container.close()
        return path
    }

    private func eventually(_ condition: () -> Bool) async throws {
        let holds = await SyncTesting.eventually(condition)
        #expect(holds)
    }

    @Test func viewsAreTextOfValues() {
        let task = todo.TodoTask(
            id: .string("1"), title: "Ship it", priority: 2, isCompleted: true, memo: "soon")
        #expect(
            TaskDetailView(task: task).lines == [
                "Ship it", "  priority: 2", "  done", "  memo: soon",
            ])
        #expect(
            TaskDetailView(task: task, isGone: true, deletedBy: "cron").lines.last
                == "  ! deleted by cron; last known values")
        #expect(TaskListView(title: "Home", tasks: []).lines == ["Home", "  nothing to do"])
        #expect(
            GroupListView(groups: []).lines == ["No groups. Make one: group TITLE"])
    }

    @Test func mockDataNeedsNoStore() async throws {
        let screen = try Screen(.mock)
        #expect(screen.lines == ["1. Home (1 open)"])
        _ = await screen.run("all")
        #expect(
            screen.lines == ["All tasks", "  1. [ ] Water the plants +", "  2. [x] Call Ada"])
        _ = await screen.run("show 1")
        #expect(screen.lines.contains("  memo: not the cactus"))
        _ = await screen.run("delete")
        #expect(screen.message == "Not done: these are mock objects: nothing can be saved")
        _ = await screen.run("back")
        _ = await screen.run("back")
        #expect(screen.lines == ["1. Home (1 open)"])
        #expect(await !screen.run("quit"))
    }

    @Test(arguments: TodoContainer.allCases)
    func everyContainer(kind: TodoContainer) async throws {
        let path = try bundle()
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let container = try kind.open(path)
        let screen = try Screen(.live, container: container)
        #expect(screen.lines == ["1. Home (2 open)", "2. Work (1 open)"])
        _ = await screen.run("open 1")
        #expect(screen.lines == ["Home", "  1. [ ] Water the plants", "  2. [ ] Call Ada"])
        _ = await screen.run("add Feed the cat")
        try await eventually { screen.lines.count == 4 }
        _ = await screen.run("show 2")
        _ = await screen.run("done")
        _ = await screen.run("memo tomorrow")
        #expect(screen.lines == ["Call Ada", "  priority: 1", "  done", "  memo: tomorrow"])
        _ = await screen.run("memo later")
        #expect(screen.lines.last == "  memo: later")
        _ = await screen.run("back")
        _ = await screen.run("back")
        try await eventually { screen.lines == ["1. Home (2 open)", "2. Work (1 open)"] }
        _ = await screen.run("ungroup 1")
        try await eventually { screen.lines == ["1. Work (1 open)"] }
        container.close()
        // What is left for the next session.
        let next = try Screen(.live, container: kind.open(path))
        let isKept = kind == .file || kind == .copy
        #expect(next.lines.count == (isKept ? 1 : 2))
        if kind == .bundle || kind == .copy {
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test func detailStaysRightWhenAnotherProcessDeletes() async throws {
        let path = try bundle()
        let screen = try Screen(.live, container: try TodoContainer.file.open(path))
        _ = await screen.run("open 1")
        _ = await screen.run("show 1")
        let shown = screen.lines
        #expect(shown[0] == "Water the plants")
        try await SharedStore.run(
            path, "DELETE FROM C_Task WHERE title = 'Water the plants'", usesPython: false)
        try await eventually { screen.lines.count > shown.count }
        #expect(Array(screen.lines.prefix(shown.count)) == shown)
        #expect(screen.lines.last == "  ! deleted by an unknown author; last known values")
        _ = await screen.run("title New")
        #expect(screen.message?.hasPrefix("Not done: there is no object") == true)
        _ = await screen.run("back")
        #expect(screen.lines == ["Home", "  1. [ ] Call Ada"])
        // The group goes, and its list is empty; nothing can be added to it.
        try await SharedStore.run(
            path, "DELETE FROM C_Group WHERE title = 'Home'", usesPython: true)
        try await eventually { screen.lines == ["Home", "  nothing to do"] }
        _ = await screen.run("add Never")
        #expect(screen.message?.hasPrefix("Not done: there is no object") == true)
        _ = await screen.run("back")
        #expect(screen.lines == ["1. Work (1 open)"])
    }

    /// The program itself, as a process of its own: it writes, this process follows; it reads what
    /// this one deleted.
    @Test func theProgramIsAnotherProcess() async throws {
        let path = try bundle()
        let container = try TodoContainer.file.open(path)
        let counts = try TodoActions(container: container).taskCounts()
        let screen = try Screen(.live, container: container)
        _ = await screen.run("open 2")
        let text = try await runProgram(path, "open 2\nadd From afar\nback\nungroup 1\nquit\n")
        #expect(text.contains("2. Work (1 open)"))
        try await eventually { screen.lines.contains { $0.contains("From afar") } }
        for await count in counts where count == 2 { break }
        _ = await screen.run("back")
        #expect(screen.lines == ["1. Work (2 open)"])
    }

    /// What the program prints for these commands. Files, not pipes, so that neither process waits
    /// for the other.
    private func runProgram(_ path: String, _ commands: String) async throws -> String {
        let (input, output): (URL, URL) = (folder.file("commands"), folder.file("output"))
        try Data(commands.utf8).write(to: input)
        try Data().write(to: output)
        let process = try OtherProcess(
            OtherProcess.product("todo"), ["--path", path],
            input: FileHandle(forReadingFrom: input), output: FileHandle(forWritingTo: output))
        #expect(await process.status() == 0)
        return try String(contentsOf: output, encoding: .utf8)
    }

    @Test("C-19: killed while it copies its bundle")
    func aCrashWhileCopyingLeavesNothingOrAll() async throws {
        let path = try bundle()
        _ = try await SharedStore.run(
            path,
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
                + " INSERT INTO C_Memo(content) SELECT 'memo number ' || i FROM n",
            usesPython: false)
        let copy = path + ".copy"
        for round in 0..<8 {
            for suffix in ["", "-wal", "-shm"] { unlink(copy + suffix) }
            let process = try OtherProcess(
                OtherProcess.product("todo"), ["--store", "copy", "--path", path])
            try await Task.sleep(for: .milliseconds(15 + 7 * round))
            await process.kill()
            guard FileManager.default.fileExists(atPath: copy) else { continue }
            let isWhole = try await SharedStore.python(
                copy,
                "ok = c.execute('PRAGMA integrity_check').fetchone()[0] == 'ok'\n"
                    + "n = c.execute('SELECT count(*) FROM C_Memo').fetchone()[0]\n"
                    + "sys.exit(0 if ok and n == 20000 else 1)")
            #expect(isWhole == 0, "round \(round)")
        }
    }

    @Test func aMemoIsReplacedAndAMoveNeedsBothEnds() async throws {
        let container = try TodoContainer.memory.open("")
        let actions = TodoActions(container: container)
        let context = try container.viewContext
        let task = try #require(try context.fetch(TaskObject.self).first)
        let value = try #require(task.convertToValueType())
        try await actions.setMemo("one", of: value)
        context.performAndWait {}
        let first = try #require(task.memo)
        try await actions.setMemo("two", of: value)
        context.performAndWait {}
        #expect(task.memo?.content == "two")
        #expect(task.memo?.objectID != first.objectID)
        #expect(first.state.isGone)
        try await actions.setMemo(nil, of: value)
        context.performAndWait {}
        #expect(task.memo == nil)
        #expect(task.convertToValueType()?.memo == nil)
        let group = try #require(try context.fetch(GroupObject.self).first?.convertToValueType())
        try await actions.deleteGroup(group)
        await #expect(throws: ObjectError.self) { try await actions.move(value, to: group) }
        await #expect(throws: ObjectError.self) { try await actions.createTask("x", in: group) }
        await #expect(throws: ObjectError.self) { try await actions.deleteGroup(group) }
    }
}
