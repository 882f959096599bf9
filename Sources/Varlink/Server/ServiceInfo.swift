/// The implementation, for `org.varlink.service.GetInfo`.
public struct ServiceInfo: Sendable, Hashable {
    /// Its vendor.
    public var vendor: String
    /// Its name.
    public var product: String
    /// Its version.
    public var version: String
    /// Its web page.
    public var url: String

    /// Makes the description of a service.
    public init(vendor: String, product: String, version: String, url: String) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
    }
}
