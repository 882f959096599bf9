/// Carries messages between replicas the way networks and shared folders do: late, twice, in
/// another order, to the wrong address, or not at all. What happens follows from the random numbers
/// that the caller passes.
public struct UnreliableNetwork<Message: Sendable>: Sendable {
    /// How often each fault happens to a message.
    public struct Faults: Sendable {
        /// Share of messages that are held back; some of these never arrive.
        public var delay: Double
        /// Share of deliveries after which a message that was held back arrives too.
        public var release: Double
        /// Share of late messages that arrive a second time later on.
        public var duplication: Double

        /// No faults by default.
        public init(delay: Double = 0, release: Double = 0, duplication: Double = 0) {
            self.delay = delay
            self.release = release
            self.duplication = duplication
        }
    }

    /// How often each fault happens.
    public let faults: Faults
    private var late: [(to: Int, message: Message)] = []

    /// An empty network.
    public init(faults: Faults) { self.faults = faults }

    /// Sends a message.
    /// - Returns: what arrives now, in order: nothing, the message, or the message and a late one,
    ///   which may go to any of `addresses` replicas.
    public mutating func send(
        _ message: Message, to address: Int, of addresses: Int, using random: inout SeededRandom
    ) -> [(to: Int, message: Message)] {
        if random.chance(faults.delay) {
            late.append((address, message))
            return []
        }
        var arriving = [(to: address, message: message)]
        if !late.isEmpty, random.chance(faults.release) {
            let place = random.below(late.count)
            var item = late[place]
            if !random.chance(faults.duplication) { late.remove(at: place) }
            if random.chance(0.5) { item.to = random.below(addresses) }
            arriving.append(item)
        }
        return arriving
    }
}
