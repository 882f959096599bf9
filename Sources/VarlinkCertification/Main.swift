import Varlink

/// The public certification suite of varlink, `org.varlink.certification`, with the server or
/// client of this package against another implementation's.
///
///     varlink-certification --varlink=unix:PATH            serves until its input ends
///     varlink-certification --client --varlink=unix:PATH   calls, and exits 0 when all is right
@main
struct Main {
    static func main() async throws {
        var address: VarlinkAddress?
        var isClient = false
        for argument in CommandLine.arguments.dropFirst() {
            if argument == "--client" {
                isClient = true
            } else if argument.hasPrefix("--varlink=") {
                address = try VarlinkAddress(String(argument.dropFirst("--varlink=".count)))
            }
        }
        guard let address else {
            print("usage: varlink-certification [--client] --varlink=unix:PATH")
            throw TransportError(.invalidAddress, "no address was given")
        }
        if isClient {
            try await CertificationClient(address: address).run()
            print("Certification passed")
        } else {
            try await serve(at: address)
        }
    }

    private static func serve(at address: VarlinkAddress) async throws {
        let info = ServiceInfo(
            vendor: "syncd", product: "varlink-certification", version: "1",
            url: "https://varlink.org")
        let server = try VarlinkServer(
            info: info, interfaces: [try CertificationService().served()])
        try await server.listen(at: address)
        print("listening")
        // The parent process ends this one by closing its input.
        while readLine() != nil {}
        await server.stop()
    }
}
