import Synchronization
import Varlink

/// Lets a task wait until a slow client has emptied its queue, or is gone.
final class DrainGate: Sendable {
    private enum State {
        case idle
        /// The queue was emptied before a task waited for it.
        case open
        case waiting(CheckedContinuation<Bool, Never>)
        case closed
    }

    private let state = Mutex(State.idle)

    init(_ stream: ReplyStream) {
        stream.onDrained { [weak self] in self?.move(to: .open) }
        stream.onClose { [weak self] in self?.move(to: .closed) }
    }

    /// Waits; false when the client is gone.
    func drained() async -> Bool {
        await withCheckedContinuation { continuation in
            let known: Bool? = state.withLock { state in
                switch state {
                case .open:
                    state = .idle
                    return true
                case .closed: return false
                case .idle, .waiting:
                    state = .waiting(continuation)
                    return nil
                }
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    private func move(to new: State) {
        let waiting: CheckedContinuation<Bool, Never>? = state.withLock { state in
            if case .closed = state { return nil }
            guard case .waiting(let continuation) = state else {
                state = new
                return nil
            }
            if case .closed = new { state = .closed } else { state = .idle }
            return continuation
        }
        guard let waiting else { return }
        if case .closed = new {
            waiting.resume(returning: false)
        } else {
            waiting.resume(returning: true)
        }
    }
}
