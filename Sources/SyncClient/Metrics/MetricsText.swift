import SyncCore

/// An overview as a monitoring system reads it.
package struct MetricsText: Sendable {
    /// The two texts that Prometheus reads.
    package enum Format: Sendable {
        /// Prometheus text format 0.0.4, which the textfile collector reads, too
        /// (https://prometheus.io/docs/instrumenting/exposition_formats/).
        case prometheus
        /// OpenMetrics 1.0
        /// (https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md).
        case openMetrics

        /// The media type.
        package var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    private let format: Format
    private let samples: [MetricSample]

    /// - Parameters:
    ///   - namesStores: false: sums over all stores, without their paths.
    ///   - now: what ages are counted to.
    package init(
        _ overview: DaemonOverview, format: Format, namesStores: Bool = true,
        now: Timestamp = .now()
    ) {
        self.format = format
        let all = MetricSamples(overview, now: now)
        samples = namesStores ? all.samples : all.totals()
    }

    /// What is known of a daemon that does not answer: `syncd_up` is 0, and no other value.
    package init(ofNone format: Format) {
        self.format = format
        samples = [MetricSample(.up, [], .integer(0))]
    }

    /// All metrics that have a value.
    ///
    /// - Complexity: O(result)
    package var text: String {
        let byMetric = Dictionary(grouping: samples, by: \.metric)
        var text = ""
        for metric in Metric.all {
            guard let samples = byMetric[metric] else { continue }
            // OpenMetrics calls a counter by its name without the ending of its values.
            let isBare = format == .openMetrics && metric.kind == .counter
            let name = isBare ? String(metric.name.dropLast("_total".count)) : metric.name
            text += "# HELP \(name) \(metric.help)\n# TYPE \(name) \(metric.kind.rawValue)\n"
            for sample in samples { text += lines(of: sample) }
        }
        return format == .openMetrics ? text + "# EOF\n" : text
    }

    private func lines(of sample: MetricSample) -> String {
        let name = sample.metric.name
        switch sample.value {
        case .integer(let value): return "\(name)\(labels(of: sample)) \(value)\n"
        case .seconds(let milliseconds):
            return "\(name)\(labels(of: sample)) \(Self.decimal(milliseconds, digits: 3))\n"
        case .histogram(let histogram):
            var text = ""
            var count: Int64 = 0
            for (bound, more) in zip(histogram.bounds, histogram.counts) {
                count &+= more
                let end = Self.decimal(bound, digits: 6)
                text += "\(name)_bucket\(labels(of: sample, and: ("le", end))) \(count)\n"
            }
            let total = histogram.count
            text += "\(name)_bucket\(labels(of: sample, and: ("le", "+Inf"))) \(total)\n"
            text += "\(name)_sum\(labels(of: sample)) \(Self.decimal(histogram.sum, digits: 6))\n"
            return text + "\(name)_count\(labels(of: sample)) \(total)\n"
        }
    }

    private func labels(of sample: MetricSample, and last: (String, String)? = nil) -> String {
        var pairs = zip(sample.metric.labels, sample.labels).map { "\($0)=\"\(Self.escaped($1))\"" }
        if let last { pairs.append("\(last.0)=\"\(last.1)\"") }
        return pairs.isEmpty ? "" : "{" + pairs.joined(separator: ",") + "}"
    }

    /// Paths and names are chosen by the owners of databases: none may end a label or a line.
    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n").replacing("\r", with: " ")
    }

    /// `1500`, 3 digits: `1.5`.
    private static func decimal(_ value: Int64, digits: Int) -> String {
        var text = String(value.magnitude)
        text = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        let whole = text.dropLast(digits)
        var fraction = text.suffix(digits)
        while fraction.last == "0" { fraction.removeLast() }
        return (value < 0 ? "-" : "") + whole + (fraction.isEmpty ? "" : "." + fraction)
    }
}
