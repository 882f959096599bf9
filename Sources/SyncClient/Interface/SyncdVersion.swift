/// The version of this package, as `syncd --version`, `synctool --version` and the service's
/// `org.varlink.service.GetInfo` give it.
package enum SyncdVersion {
    package static let current = "0.1.0"
}
