import NIOCore
import NIOHTTP1
import SyncClient
import Varlink

/// One connection of a monitoring system: one request, one answer, closed.
///
/// A page of a browser must not read it: over TCP the host that was asked for has to be this
/// machine (DNS rebinding), and no answer allows other origins.
///
/// Confined to its channel's event loop.
final class MetricsConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    /// How long one request and its answer may take.
    static let timeMax = TimeAmount.seconds(20)

    private let source: MetricsSource
    /// Nil over TCP.
    private let peer: PeerIdentity?
    private var head: HTTPRequestHead?
    private var isAnswered = false
    private var timer: Scheduled<Void>?

    init(_ source: MetricsSource, peer: PeerIdentity?) {
        self.source = source
        self.peer = peer
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: Self.timeMax) {
            channel.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end:
            guard let head, !isAnswered else { return }
            isAnswered = true
            answer(head, on: context.channel)
        }
    }

    private func answer(_ request: HTTPRequestHead, on channel: any Channel) {
        if let (status, reason) = refusal(of: request) {
            return Self.send(
                reason + "\n", status: status, type: "text/plain; charset=utf-8", to: request,
                on: channel)
        }
        let accepted = request.headers["accept"].joined(separator: ",")
        let format: MetricsText.Format =
            accepted.contains("application/openmetrics-text") ? .openMetrics : .prometheus
        let (source, peer) = (source, peer)
        channel.eventLoop.makeFutureWithTask {
            try await source.text(for: peer, as: format)
        }.whenComplete { result in
            switch result {
            case .success(let text):
                Self.send(text, status: .ok, type: format.contentType, to: request, on: channel)
            case .failure(let error):
                Self.send(
                    "\(error)\n", status: .serviceUnavailable, type: "text/plain; charset=utf-8",
                    to: request, on: channel)
            }
        }
    }

    private func refusal(of request: HTTPRequestHead) -> (HTTPResponseStatus, String)? {
        if peer == nil, !Self.isThisMachine(request.headers.first(name: "host") ?? "") {
            return (.forbidden, "ask for localhost or 127.0.0.1")
        }
        guard request.method == .GET || request.method == .HEAD else {
            return (.methodNotAllowed, "only GET is answered")
        }
        let path = request.uri.prefix { $0 != "?" }
        return path == "/metrics" ? nil : (.notFound, "the metrics are at /metrics")
    }

    /// Whether the `Host` of a request names this machine.
    static func isThisMachine(_ host: String) -> Bool {
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "[::1]"].contains(name.lowercased())
    }

    private static func send(
        _ text: String, status: HTTPResponseStatus, type: String, to request: HTTPRequestHead,
        on channel: any Channel
    ) {
        let body = channel.allocator.buffer(string: text)
        var headers = HTTPHeaders([
            ("content-type", type), ("content-length", "\(body.readableBytes)"),
            ("x-content-type-options", "nosniff"), ("cache-control", "no-store"),
            ("connection", "close"),
        ])
        if status == .methodNotAllowed { headers.add(name: "allow", value: "GET, HEAD") }
        let head = HTTPResponseHead(version: request.version, status: status, headers: headers)
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        if request.method != .HEAD {
            channel.write(HTTPServerResponsePart.body(.byteBuffer(body)), promise: nil)
        }
        channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
