import NIOHTTP1
import SyncClient
import SyncCore
import Varlink

/// The page of `synctool ui`: files, calls and streams over HTTP, answered with the rights of the
/// user who started it.
///
/// Calls are `POST /api/NAME` with a JSON object, answered with one; no value of a database or path
/// is ever in an address. `events` is answered with lines of JSON until the client leaves.
struct PageServer: Sendable {
    let access: PageAccess
    let calls: PageCalls

    /// Answers a request.
    func answer(_ request: HTTPRequest) async -> HTTPReply {
        guard access.isAddressed(by: request) else {
            return .text(.misdirectedRequest, "this page is at http://127.0.0.1 alone")
        }
        if request.method == .GET || request.method == .HEAD {
            return PageAssets.reply(to: request.target) ?? .text(.notFound, "there is no such file")
        }
        guard request.method == .POST, request.target.hasPrefix("/api/") else {
            return .text(.notFound, "there is no such call")
        }
        guard !access.isForeign(request) else {
            return .text(
                .forbidden,
                "the call comes from a page of another origin: open the address that synctool ui "
                    + "printed")
        }
        guard access.permits(request) else {
            return .text(
                .forbidden,
                "the token is missing or wrong: open the address that synctool ui printed")
        }
        do {
            guard let parameters = try JSONParser.parse(request.body).object else {
                return .text(.badRequest, "the body is not a JSON object")
            }
            let name = String(request.target.dropFirst("/api/".count))
            guard let reply = try await calls.answer(name, parameters) else {
                return .text(.notFound, "there is no such call")
            }
            return reply
        } catch {
            return Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> HTTPReply {
        let error = error as? SyncError ?? SyncError(.badData, "\(error)")
        let json: JSONObject = [
            "error": .object([
                "code": .string(error.code.name), "reason": .string(error.reason),
                "hint": .text(error.hint), "path": .text(error.path),
            ])
        ]
        let status: HTTPResponseStatus =
            switch error.code {
            case .unknownStore, .unknownObject, .unknownEntity, .noSuchFile: .notFound
            case .notAllowed, .readOnly: .forbidden
            case .invalidArgument, .invalidToken, .badData: .badRequest
            case .unreachable, .busy: .serviceUnavailable
            default: .conflict
            }
        return HTTPReply(
            status, type: "application/json", body: .bytes(Array(json.description.utf8)))
    }
}
