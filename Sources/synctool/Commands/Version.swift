/// The version of syncd and synctool.
enum Version {
    static let text = "0.1.0"
}
