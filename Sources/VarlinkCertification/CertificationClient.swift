import Varlink

/// The calling side: sends each reply's parameters with the next call, as the suite requires.
struct CertificationClient {
    let address: VarlinkAddress

    func run() async throws {
        let client = try await VarlinkClient.connect(to: address)
        let start = try await client.call(name("Start"))
        let id: JSONValue = start["client_id"] ?? nil
        var parameters: JSONObject = ["client_id": id]
        for number in 1...9 {
            var answer = try await client.call(name("Test0\(number)"), with: parameters)
            answer["client_id"] = id
            parameters = answer
        }
        var texts: [JSONValue] = []
        for try await reply in client.callMore(name("Test10"), with: parameters) {
            texts.append(reply["string"] ?? nil)
        }
        client.oneway(
            name("Test11"), with: ["client_id": id, "last_more_replies": .array(texts)])
        let end = try await client.call(name("End"), with: ["client_id": id])
        guard end["all_ok"] == true else {
            throw VarlinkError(name("CertificationError"), parameters: ["got": .object(end)])
        }
        client.close()
    }

    private func name(_ method: String) -> String { "org.varlink.certification.\(method)" }
}
