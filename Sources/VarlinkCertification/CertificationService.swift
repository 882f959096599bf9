import Synchronization
import Varlink

/// The serving side: each call must have exactly the parameters of the reply before it, in order.
final class CertificationService: Sendable {
    private struct Step {
        let method: String
        let expected: JSONObject
        let answer: JSONObject
        let next: String
    }

    // The next method that each client has to call.
    private let expectedMethods = Mutex<[String: String]>([:])

    func served() throws -> ServedInterface {
        var interface = try ServedInterface(CertificationInterface.definition)
        interface.on("Start") { _ in
            let id = String(UInt64.random(in: .min ... .max), radix: 16)
            self.expectedMethods.withLock { $0[id] = "Test01" }
            return ["client_id": .string(id)]
        }
        for step in Self.steps {
            interface.on(step.method) { call in
                try self.check(call, of: step.method, expected: step.expected, next: step.next)
                return step.answer
            }
        }
        interface.onStream("Test10") { call, stream in
            let expected: JSONObject = ["mytype": CertificationInterface.myType]
            try self.check(call, of: "Test10", expected: expected, next: "Test11")
            let replies = CertificationInterface.numberedReplies
            for (index, text) in replies.enumerated() {
                stream.send(["string": .string(text)], continues: index < replies.count - 1)
            }
        }
        interface.on("Test11") { call in
            let replies = CertificationInterface.numberedReplies.map(JSONValue.string)
            let expected: JSONObject = ["last_more_replies": .array(replies)]
            guard call.oneway else { throw Self.error(call, expected: expected) }
            try self.check(call, of: "Test11", expected: expected, next: "End")
            return [:]
        }
        return interface
    }

    private func check(
        _ call: IncomingCall, of method: String, expected: JSONObject, next: String
    ) throws {
        guard let id = call.parameters["client_id"]?.string,
            let expectedMethod = expectedMethods.withLock({ $0[id] })
        else {
            throw VarlinkError("org.varlink.certification.ClientIdError")
        }
        var expected = expected
        expected["client_id"] = .string(id)
        // A null field and a missing one are the same.
        let given = call.parameters.withoutNulls
        guard expectedMethod == method, given == expected.withoutNulls else {
            expectedMethods.withLock { $0[id] = nil }
            throw Self.error(call, expected: expected)
        }
        expectedMethods.withLock { $0[id] = next }
    }

    private static func error(_ call: IncomingCall, expected: JSONObject) -> VarlinkError {
        VarlinkError(
            "org.varlink.certification.CertificationError",
            parameters: ["wants": .object(expected), "got": .object(call.parameters)])
    }

    private static let steps: [Step] = {
        let values = CertificationInterface.values
        let structure: JSONObject = ["struct": .object(values)]
        let map: JSONObject = ["map": ["foo": "Foo", "bar": "Bar"]]
        let set: JSONObject = ["set": ["one": [:], "two": [:], "three": [:]]]
        return [
            Step(method: "Test01", expected: [:], answer: ["bool": true], next: "Test02"),
            Step(
                method: "Test02", expected: ["bool": true], answer: ["int": 1], next: "Test03"),
            Step(
                method: "Test03", expected: ["int": 1], answer: ["float": 1.0], next: "Test04"),
            Step(
                method: "Test04", expected: ["float": 1.0], answer: ["string": "ping"],
                next: "Test05"),
            Step(
                method: "Test05", expected: ["string": "ping"], answer: values, next: "Test06"),
            Step(method: "Test06", expected: values, answer: structure, next: "Test07"),
            Step(method: "Test07", expected: structure, answer: map, next: "Test08"),
            Step(method: "Test08", expected: map, answer: set, next: "Test09"),
            Step(
                method: "Test09", expected: set,
                answer: ["mytype": CertificationInterface.myType], next: "Test10"),
            Step(method: "End", expected: [:], answer: ["all_ok": true], next: "Start"),
        ]
    }()
}

extension JSONObject {
    /// The object without null members, at every depth.
    fileprivate var withoutNulls: JSONObject {
        var object = JSONObject()
        for member in members where !member.value.isNull {
            object[member.name] =
                member.value.object.map { .object($0.withoutNulls) }
                ?? member.value
        }
        return object
    }
}
