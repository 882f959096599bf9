/// What `org.varlink.service.GetInfo` tells about the implementation.
public struct ServiceInfo: Sendable, Hashable {
    /// Who makes it.
    public var vendor: String
    /// What it is called.
    public var product: String
    /// Its version.
    public var version: String
    /// Where to read about it.
    public var url: String

    /// Makes the description of a service.
    public init(vendor: String, product: String, version: String, url: String) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
    }
}
