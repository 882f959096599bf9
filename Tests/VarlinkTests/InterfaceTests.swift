import SyncTesting
import Testing
import Varlink

@Suite("Interface definitions")
struct InterfaceTests {
    @Test func readsEveryType() throws {
        let interface = try Interface(parsing: Self.everything)
        #expect(interface.name == "org.example.every-thing.x1")
        #expect(interface.documentation == ["First line.", "", "  indented"])
        #expect(interface.members.map(\.name) == ["Kind", "All", "Do", "Bad"])
        let all = try #require(interface.types.last)
        #expect(all.documentation == ["All types."])
        #expect(
            all.type
                == .structure([
                    Field(name: "a", type: .bool), Field(name: "b", type: .int),
                    Field(name: "c", type: .float), Field(name: "d", type: .string),
                    Field(name: "e_1", type: .object, documentation: ["Anything."]),
                    Field(name: "type", type: .optional(.named("Kind"))),
                    Field(name: "g", type: .optional(.array(.optional(.map(.array(.int)))))),
                    Field(name: "h", type: .map(.structure([]))),
                    Field(
                        name: "i",
                        type: .enumeration([.init(name: "one"), .init(name: "two")])),
                    Field(name: "j", type: .structure([Field(name: "k", type: .named("All"))])),
                ]))
        #expect(interface.method("Do")?.input.map(\.name) == ["all"])
        #expect(interface.method("Do")?.output == [])
        #expect(interface.errors.map(\.name) == ["Bad"])
        #expect(interface.trailingComments == ["The end."])
    }

    @Test func printsWhatItReadsTheSame() throws {
        let interface = try Interface(parsing: Self.everything)
        let text = interface.description
        let again = try Interface(parsing: text)
        #expect(again == interface)
        #expect(again.description == text)
        #expect(text.contains("# All types.\ntype All (\n"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func printsRandomInterfacesTheSame() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<300 {
            let interface = Interface.random(using: &random)
            let text = interface.description
            #expect(try Interface(parsing: text) == interface, "\(seed):\n\(text)")
        }
    }

    @Test(arguments: [
        ("", 1, 1), ("interface", 1, 10), ("interface nodots\n", 1, 11),
        ("interface a.b", 1, 14), ("interface a.-b\nmethod A() -> ()", 1, 11),
        ("interface a.b\nmethod a() -> ()", 2, 8),
        ("interface a.b\nmethod A() > ()", 2, 12),
        ("interface a.b\r\n\r\nmethod A()\r\n-> (x: strin)", 4, 8),
        ("interface a.b\ntype A (x: B)", 2, 12), ("interface a.b\ntype A int", 2, 8),
        ("interface a.b\ntype A (x: ??int)", 2, 13),
        ("interface a.b\ntype A (x: int, x: int)", 2, 17),
        ("interface a.b\ntype A (x: int, y)", 2, 17), ("interface a.b\ntype A (x, y: int)", 2, 12),
        ("interface a.b\ntype A (x: int,)", 2, 16), ("interface a.b\ntype A (x_: int)", 2, 9),
        ("interface a.b\ntype A (x: int)\nerror A ()", 3, 1),
        ("interface a.b\nerror A (one, two)", 2, 9), ("interface a.b\ntypo A ()", 2, 1),
        ("interface a.b\ntype A (x: [int]int)", 2, 12),
    ])
    func saysWhereItIsWrong(text: String, line: Int, column: Int) {
        let error = #expect(throws: InterfaceError.self) { try Interface(parsing: text) }
        #expect(error?.line == line, "\(text.debugDescription): \(String(describing: error))")
        #expect(error?.column == column, "\(text.debugDescription): \(String(describing: error))")
    }

    @Test func boundsDepth() {
        let types = String(repeating: "(a: ", count: 100_000)
        #expect(throws: InterfaceError.self) {
            try Interface(parsing: "interface a.b\ntype A \(types)")
        }
    }

    @Test func checksValues() throws {
        let interface = try Interface(parsing: Self.everything)
        let checker = TypeChecker(interface)
        let fields = try #require(interface.method("Do")?.input)
        let good: JSONObject = [
            "a": true, "b": 1, "c": 1, "d": "", "e_1": [nil], "type": "one",
            "g": [nil, ["x": [1]]],
            "h": ["x": [:]], "i": "two", "j": ["k": ["a": 1]],
        ]
        func mismatch(_ name: String, _ value: JSONValue?) -> String? {
            var all = good
            all[name] = value
            do throws(TypeChecker.Mismatch) {
                try checker.check(["all": .object(all)], against: fields)
                return nil
            } catch {
                return error.field
            }
        }
        // The recursive field is wrong in every case until it is dealt with: its own first field.
        #expect(mismatch("a", true) == "all.j.k.a")
        #expect(mismatch("a", 1) == "all.a")
        #expect(mismatch("b", 1.0) == "all.b")
        #expect(mismatch("d", nil) == "all.d")
        #expect(mismatch("type", "three") == "all.type")
        #expect(mismatch("g", [nil, ["x": ["1"]]]) == "all.g[1][x][0]")
        #expect(mismatch("h", ["x": ["y": 1]]) == "all.h[x].y")
        #expect(mismatch("i", 2) == "all.i")
        #expect(mismatch("type", nil) == "all.j.k.a")
    }

    private static let everything = """
        # First line.
        #
        #   indented
        interface org.example.every-thing.x1

        type Kind (
          # Number one.
          one,
          two)
        # All types.
        type All (a:bool,b : int, c: float, d: string,
          # Anything.
          e_1: object, type: ?Kind, g: ?[]?[string][]int, h: [string](),
          i: (one, two), j: (k: All))\tmethod Do(all: All)->()
        # A long one that needs more than one line, since its fields are many and have long names.
        error Bad (first_reason: string, second_reason: string, third_reason: ?[]string, fourth: int)
        # The end.

        """
}

extension Interface {
    static func random(using random: inout SeededRandom) -> Interface {
        let types = (0..<Int.random(in: 0...3, using: &random)).map { "Type\($0)" }
        var members: [Member] = types.map { name in
            .type(
                TypeDefinition(
                    name: name,
                    type: Bool.random(using: &random)
                        ? .structure(fields(types, 3, &random)) : .enumeration(cases(&random)),
                    documentation: comments(&random)))
        }
        for index in 0...Int.random(in: 0...3, using: &random) {
            members.append(
                .method(
                    Method(
                        name: "Method\(index)", input: fields(types, 3, &random),
                        output: fields(types, 3, &random), documentation: comments(&random))))
            members.append(
                .error(
                    ErrorDefinition(
                        name: "Error\(index)", parameters: fields(types, 2, &random),
                        documentation: comments(&random))))
        }
        members.shuffle(using: &random)
        return Interface(
            name: "org.example.random", documentation: comments(&random), members: members,
            trailingComments: comments(&random))
    }

    private static func comments(_ random: inout SeededRandom) -> [String] {
        let lines = ["", " ", "text", "  # more (a: int)", "\u{E9}\u{1F600}", "x "]
        return (0..<max(0, Int.random(in: -2...2, using: &random))).compactMap { _ in
            lines.randomElement(using: &random)
        }
    }

    private static func cases(_ random: inout SeededRandom) -> [EnumerationCase] {
        (0...Int.random(in: 0...4, using: &random)).map {
            EnumerationCase(name: "case_\($0)", documentation: comments(&random))
        }
    }

    private static func fields(
        _ types: [String], _ depth: Int, _ random: inout SeededRandom
    ) -> [Field] {
        (0..<Int.random(in: 0...4, using: &random)).map {
            Field(
                name: "field_\($0)", type: type(types, depth, &random),
                documentation: comments(&random))
        }
    }

    private static func type(
        _ types: [String], _ depth: Int, _ random: inout SeededRandom
    ) -> TypeReference {
        switch Int.random(in: 0..<(depth > 0 ? 11 : 6), using: &random) {
        case 0: return .bool
        case 1: return .int
        case 2: return .float
        case 3: return .string
        case 4: return .object
        case 5: return types.randomElement(using: &random).map { .named($0) } ?? .string
        case 6: return .array(type(types, depth - 1, &random))
        case 7: return .map(type(types, depth - 1, &random))
        case 8: return .structure(fields(types, depth - 1, &random))
        case 9: return .enumeration(cases(&random))
        default:
            let inner = type(types, depth - 1, &random)
            if case .optional = inner { return inner }
            return .optional(inner)
        }
    }
}
