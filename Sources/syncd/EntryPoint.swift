/// Where `syncd` begins; the program that calls it is target `Programs`.
package enum EntryPoint {
    package static func main() async { await Syncd.main() }
}
