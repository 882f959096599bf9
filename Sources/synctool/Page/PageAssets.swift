import NIOHTTP1

/// The files of the page, compiled into the program: it needs no folder of its own, and loads
/// nothing from elsewhere.
enum PageAssets {
    /// The file at the path of a request; nil: there is none.
    static func reply(to path: String) -> HTTPReply? {
        switch path {
        case "/": reply("text/html", PackageResources.index_html)
        case "/page.css": reply("text/css", PackageResources.page_css)
        case "/page.js": reply("text/javascript", PackageResources.page_js)
        case "/service.js": reply("text/javascript", PackageResources.service_js)
        case "/text.js": reply("text/javascript", PackageResources.text_js)
        case "/timeline.js": reply("text/javascript", PackageResources.timeline_js)
        case "/object.js": reply("text/javascript", PackageResources.object_js)
        case "/conflicts.js": reply("text/javascript", PackageResources.conflicts_js)
        case "/overview.js": reply("text/javascript", PackageResources.overview_js)
        case "/plots.js": reply("text/javascript", PackageResources.plots_js)
        case "/icon.svg": reply("image/svg+xml", PackageResources.icon_svg)
        default: nil
        }
    }

    private static func reply(_ type: String, _ bytes: [UInt8]) -> HTTPReply {
        HTTPReply(type: type + "; charset=utf-8", body: .bytes(bytes))
    }

    /// What the browser may do with the page: run its own files and talk to its own server. Nothing
    /// is kept in caches.
    static let headers: HTTPHeaders = [
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
            + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            + "require-trusted-types-for 'script'; trusted-types 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    ]
}
