/// The schemas of each kind of schedules.
extension StoreSimulation.Schedules {
    /// Draws a schema.
    func schema(_ random: inout SeededRandom) -> SimulatedSchema {
        switch self {
        case .ordinary, .migrating: RandomSchema.draw(&random)
        case .plain: PlainSchema.draw(&random, isCrowded: false)
        case .simple: SimpleSchema.draw(&random)
        case .crowded: PlainSchema.draw(&random, isCrowded: true)
        }
    }
}
