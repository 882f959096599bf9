import NIOHTTP1

/// A whole request.
struct HTTPRequest: Sendable {
    let method: HTTPMethod
    /// The target of the request line, as it was sent.
    let target: String
    let headers: HTTPHeaders
    let body: [UInt8]

    /// The only header of this name; nil when there is none, or more than one: two readers of a
    /// request must not see different ones.
    func header(_ name: String) -> String? {
        let values = headers[name]
        return values.count == 1 ? values[0] : nil
    }
}
