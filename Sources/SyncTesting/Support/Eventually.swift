import Foundation

/// A condition that is never true is asked for this often, however little time there was.
package let questionsMin = 8

/// Asks again until the answer is yes; false when the time is over. Never blocks a thread.
///
/// The default limit is long because the machine may be busy; nothing waits longer than it must. A
/// pause can take as long as all of the limit when other tests hold every thread: it asks
/// ``questionsMin`` times at least.
package func eventually(
    within limit: Duration = .seconds(60), every pause: Duration = .milliseconds(5),
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let end = ContinuousClock.now + limit
    var questions = 0
    while true {
        if try await condition() { return true }
        questions += 1
        if questions >= questionsMin, ContinuousClock.now > end { return false }
        // In a task of its own: in a cancelled one the pause would end at once.
        await Task.detached { try? await Task.sleep(for: pause) }.value
    }
}

/// ``eventually(within:every:isolation:_:)`` for a test that is not asynchronous: it blocks its
/// thread. Its name is another one: the compiler would choose it in asynchronous tests, too.
package func waitUntil(
    within limit: Duration = .seconds(60), _ condition: () throws -> Bool
) rethrows -> Bool {
    let end = ContinuousClock.now + limit
    while true {
        if try condition() { return true }
        if ContinuousClock.now > end { return false }
        usleep(500)
    }
}
