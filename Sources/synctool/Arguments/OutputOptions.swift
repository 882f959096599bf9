import ArgumentParser

/// The form of a command's output.
struct OutputOptions: ParsableArguments {
    @Flag(name: .customLong("json"), help: "Print one JSON object per line.")
    var isJSON = false
}
