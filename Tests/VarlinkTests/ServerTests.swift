import Foundation
import SyncTesting
import Testing
import Varlink

@Suite("Varlink server", .timeLimit(.minutes(2)))
struct ServerTests {
    @Test func describesItself() async throws {
        try await withServer(Ping.interface()) { _, address in
            let client = try await VarlinkClient.connect(to: address)
            let info = try await client.call("org.varlink.service.GetInfo")
            #expect(info["product"] == "p")
            #expect(info["interfaces"] == ["org.varlink.service", "org.example.ping"])
            let answer = try await client.call(
                "org.varlink.service.GetInterfaceDescription",
                with: ["interface": "org.example.ping"])
            #expect(answer["description"]?.string == Ping.definition)
            let service = try await client.call(
                "org.varlink.service.GetInterfaceDescription",
                with: ["interface": "org.varlink.service"])
            let text = try #require(service["description"]?.string)
            #expect(try Interface(parsing: text).errors.count == 6)
        }
    }

    @Test(
        arguments: [
            (
                "org.example.ping.Nothing", [:],
                VarlinkError.methodNotFound("org.example.ping.Nothing")
            ),
            ("org.example.other.Ping", [:], .interfaceNotFound("org.example.other")),
            ("Ping", [:], .interfaceNotFound("")),
            ("org.example.ping.Ping", [:], .invalidParameter("text")),
            ("org.example.ping.Ping", ["text": 1], .invalidParameter("text")),
            ("org.example.ping.Ping", ["text": "", "number": 1.5], .invalidParameter("number")),
            ("org.example.ping.Ping", ["text": "", "more": 1], .invalidParameter("more")),
            (
                "org.example.ping.Ping", ["text": "", "options": ["kind": "three"]],
                .invalidParameter("options.kind")
            ),
            ("org.example.ping.Watch", ["count": 1], .expectedMore),
            (
                "org.example.ping.Fail", [:],
                VarlinkError("org.example.ping.Failed", parameters: ["why": "asked to"])
            ),
            (
                "org.varlink.service.GetInterfaceDescription", ["interface": "no.such"],
                .interfaceNotFound("no.such")
            ),
        ] as [(String, JSONObject, VarlinkError)])
    func answersErrors(method: String, parameters: JSONObject, expected: VarlinkError) async throws
    {
        try await withServer(Ping.interface()) { _, address in
            let client = try await VarlinkClient.connect(to: address)
            await #expect(throws: expected) { try await client.call(method, with: parameters) }
            // The connection goes on.
            let reply = try await client.call("org.example.ping.Ping", with: ["text": "still here"])
            #expect(reply == ["text": "still here"])
        }
    }

    @Test func nullStandsForALeftOutField() async throws {
        try await withServer(Ping.interface()) { _, address in
            let client = try await VarlinkClient.connect(to: address)
            let parameters: JSONObject = [
                "text": "x", "number": nil, "options": ["loud": nil, "kind": "two"], "later": nil,
            ]
            let reply = try await client.call("org.example.ping.Ping", with: parameters)
            #expect(reply["text"] == "x")
        }
    }

    @Test func refusesAnUpgrade() async throws {
        try await withServer(Ping.interface()) { _, address in
            let client = try RawClient(address)
            var call = Ping.call("x")
            call.upgrade = true
            client.send(call)
            let reply = try await client.reply()
            #expect(reply == ReplyMessage(.invalidParameter("upgrade")))
        }
    }

    @Test func mapsForeignErrors() async throws {
        struct Broken: Error {}
        var interface = try Ping.interface()
        interface.on("Fail") { _ in throw Broken() }
        try await withServer(interface) { _, address in
            let client = try await VarlinkClient.connect(to: address)
            let expected = VarlinkError(
                "org.example.ping.InternalError", parameters: ["reason": "Broken()"])
            await #expect(throws: expected) { try await client.call("org.example.ping.Fail") }
        }
    }

    @Test func tellsWhoCalls() async throws {
        try await withServer(Ping.interface()) { _, address in
            let client = try await VarlinkClient.connect(to: address)
            let reply = try await client.call("org.example.ping.Peer")
            #expect(reply == ["uid": .integer(Int64(getuid())), "pid": .integer(Int64(getpid()))])
        }
    }

    @Test func answersPipelinedCallsInOrder() async throws {
        try await withServer(Ping.interface()) { _, address in
            let client = try RawClient(address)
            let count = 300
            Thread {
                // More than the server reads ahead: the sender has to wait for the reader.
                let padding = String(repeating: ".", count: 2000)
                for index in 0..<count {
                    client.send(Ping.call("\(index)\(padding)", index % 3 == 0 ? "Slow" : "Ping"))
                }
            }.start()
            for index in 0..<count {
                let reply = try #require(await client.reply())
                let text = try #require(reply.parameters["text"]?.string)
                #expect(text.prefix { $0 != "." } == "\(index)")
            }
        }
    }

    @Test func answersOnewayCallsWithNothing() async throws {
        let notes = Shared<[String]>([])
        let interface = try Ping.interface(note: { note in notes.change { $0.append(note) } })
        try await withServer(interface) { _, address in
            let client = try RawClient(address)
            client.send(Ping.call("a", "Note", oneway: true))
            client.send(Ping.call("b", "Nothing", oneway: true))
            client.send(Ping.call("c"))
            #expect(try await client.reply()?.parameters == ["text": "c"])
            #expect(notes.value == ["a"])
        }
    }

    @Test func carriesOutOnewayCallsOfAClientThatLeft() async throws {
        let notes = Shared<[String]>([])
        let interface = try Ping.interface(note: { note in notes.change { $0.append(note) } })
        try await withServer(interface) { _, address in
            do {
                let client = try RawClient(address)
                for index in 0..<20 { client.send(Ping.call("\(index)", "Note", oneway: true)) }
            }
            #expect(await eventually { notes.value.count == 20 })
        }
        #expect(notes.value == (0..<20).map(String.init))
    }

    @Test func answersAClientThatClosedItsSide() async throws {
        try await withServer(Ping.interface()) { server, address in
            let client = try RawClient(address)
            client.send(Ping.call("a", "Slow"))
            client.send(Ping.call("b"))
            client.endInput()
            #expect(try await client.reply()?.parameters == ["text": "a"])
            #expect(try await client.reply()?.parameters == ["text": "b"])
            #expect(await client.receive() == nil)
            #expect(await eventually { server.connectionCount == 0 })
        }
    }

    @Test func cancelsTheHandlerOfAClientThatLeft() async throws {
        let wasCancelled = Shared(false)
        let hasBegun = Shared(false)
        var interface = try Ping.interface()
        interface.on("Slow") { _ in
            hasBegun.change { $0 = true }
            try? await Task.sleep(for: .seconds(60))
            wasCancelled.change { $0 = Task.isCancelled }
            return ["text": ""]
        }
        try await withServer(interface) { _, address in
            do {
                let client = try RawClient(address)
                client.send(Ping.call("", "Slow"))
                #expect(await eventually { hasBegun.value })
            }
            #expect(await eventually { wasCancelled.value })
        }
    }

    @Test func everyMethodNeedsAHandler() throws {
        var half = try ServedInterface("interface a.b\nmethod A() -> ()\nmethod B() -> ()")
        half.on("A") { _ in [:] }
        #expect(throws: TransportError(.invalidInterface, "")) {
            try VarlinkServer(info: .test, interfaces: [half])
        }
        half.on("B") { _ in [:] }
        half.on("C") { _ in [:] }
        #expect(throws: TransportError(.invalidInterface, "")) {
            try VarlinkServer(info: .test, interfaces: [half])
        }
        let ping = try Ping.interface()
        #expect(throws: TransportError(.invalidInterface, "")) {
            try VarlinkServer(info: .test, interfaces: [ping, ping])
        }
    }
}
