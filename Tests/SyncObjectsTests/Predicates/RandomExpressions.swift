import Foundation
import SyncTesting

@testable import SyncObjects

/// An expression of any kind, with the type of its value: so that random trees have a type.
struct AnyExpression<Output>: StandardPredicateExpression, BridgedNode {
    let base: any StandardPredicateExpression<Output>

    init(_ base: any StandardPredicateExpression<Output>) { self.base = base }

    init(from _: any Decoder) throws { throw CocoaError(.coderInvalidValue) }

    func encode(to _: any Encoder) throws { throw CocoaError(.coderInvalidValue) }

    func evaluate(_ bindings: PredicateBindings) throws -> Output { try base.evaluate(bindings) }

    func bridge(_ bridge: inout PredicateBridge) throws -> BridgedPart { try bridge.part(base) }
}

/// Random predicates about things, with a type at each node as the compiler would demand it.
struct RandomExpressions {
    private typealias Make = PredicateExpressions
    private typealias Variable<T> = PredicateExpressions.Variable<T>
    private var random: SeededRandom
    /// Numbers that an unwrapped optional gave.
    private var numbers: [AnyExpression<Int>] = []

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func predicate() -> Predicate<Thing> {
        var maker = self
        let predicate = Predicate<Thing> { maker.condition($0, 4) }
        self = maker
        numbers = []
        return predicate
    }

    private mutating func roll(_ sides: UInt64) -> UInt64 { random.next() % sides }

    private mutating func pick<T>(_ values: [T], or other: T) -> T {
        values.randomElement(using: &random) ?? other
    }

    // MARK: Conditions

    private mutating func condition(
        _ thing: Variable<Thing>, _ depth: Int
    ) -> AnyExpression<Bool> {
        switch roll(depth > 0 ? 12 : 5) {
        case 0: return equal(number(thing, depth - 1), number(thing, depth - 1))
        case 1: return equal(text(thing, depth - 1), text(thing, depth - 1))
        case 2: return compare(sure(thing, depth - 1), sure(thing, depth - 1))
        case 3: return equal(maybe(thing, depth - 1), maybe(thing, depth - 1))
        case 4: return AnyExpression(Make.build_Arg(roll(2) == 0))
        case 5: return AnyExpression(Make.build_Negation(condition(thing, depth - 1)))
        case 6:
            return AnyExpression(
                Make.build_Conjunction(
                    lhs: condition(thing, depth - 1), rhs: condition(thing, depth - 1)))
        case 7:
            return AnyExpression(
                Make.build_Disjunction(
                    lhs: condition(thing, depth - 1), rhs: condition(thing, depth - 1)))
        default:
            return AnyExpression(
                Make.build_NilCoalesce(
                    lhs: maybe(thing, depth - 1), rhs: condition(thing, depth - 1)))
        }
    }

    private mutating func equal<T: Equatable>(
        _ left: AnyExpression<T>, _ right: AnyExpression<T>
    ) -> AnyExpression<Bool> {
        roll(2) == 0
            ? AnyExpression(Make.build_Equal(lhs: left, rhs: right))
            : AnyExpression(Make.build_NotEqual(lhs: left, rhs: right))
    }

    private mutating func compare(
        _ left: AnyExpression<Int>, _ right: AnyExpression<Int>
    ) -> AnyExpression<Bool> {
        switch roll(4) {
        case 0: return AnyExpression(Make.build_Comparison(lhs: left, rhs: right, op: .lessThan))
        case 1:
            return AnyExpression(
                Make.build_Comparison(lhs: left, rhs: right, op: .lessThanOrEqual))
        case 2:
            return AnyExpression(Make.build_Comparison(lhs: left, rhs: right, op: .greaterThan))
        default:
            return AnyExpression(
                Make.build_Comparison(lhs: left, rhs: right, op: .greaterThanOrEqual))
        }
    }

    /// A condition that may be nil.
    private mutating func maybe(
        _ thing: Variable<Thing>, _ depth: Int
    ) -> AnyExpression<Bool?> {
        switch roll(depth > 0 ? 9 : 3) {
        case 0: return AnyExpression(Make.build_KeyPath(root: thing, keyPath: \.done))
        case 1: return AnyExpression(Make.build_Arg(pick([true, false, nil], or: nil)))
        case 2:
            let part = pick(["a", "%", ""], or: "b")
            return AnyExpression(
                Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.title)) {
                    AnyExpression<Bool>(
                        Make.build_contains($0, Make.build_Arg(part)))
                })
        case 3, 4:
            let path = pick([\Thing.rank, \Thing.stars], or: \Thing.rank)
            var maker = self
            let made = Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: path)) {
                variable in
                maker.numbers.append(AnyExpression(variable))
                defer { maker.numbers.removeLast() }
                return maker.condition(thing, depth - 1)
            }
            self = maker
            return AnyExpression(made)
        case 5:
            var maker = self
            let made = Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.rank)) {
                variable in
                maker.numbers.append(AnyExpression(variable))
                defer { maker.numbers.removeLast() }
                return maker.maybe(thing, depth - 1)
            }
            self = maker
            return AnyExpression(made)
        default:
            var maker = self
            let made = Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.box)) {
                maker.conditionOfBox($0)
            }
            self = maker
            return AnyExpression(made)
        }
    }

    private mutating func conditionOfBox(_ box: Variable<ThingBox>) -> AnyExpression<Bool> {
        let lids = Make.build_KeyPath(root: box, keyPath: \.lids)
        switch roll(4) {
        case 0:
            return equal(
                AnyExpression(Make.build_KeyPath(root: box, keyPath: \.name)),
                AnyExpression(Make.build_Arg(pick(["a", "none", nil], or: nil))))
        case 1:
            return equal(
                AnyExpression(Make.build_KeyPath(root: lids, keyPath: \.count)),
                AnyExpression(Make.build_Arg(Int(roll(2)))))
        case 2:
            var maker = self
            let made = Make.build_contains(lids) { lid in
                maker.equal(
                    AnyExpression<Int?>(Make.build_KeyPath(root: lid, keyPath: \.size)),
                    AnyExpression(Make.build_Arg(maker.pick([1, 3, nil], or: nil))))
            }
            self = maker
            return AnyExpression(made)
        default:
            var maker = self
            let made = Make.build_allSatisfy(lids) { lid in
                maker.equal(
                    AnyExpression<Int?>(Make.build_KeyPath(root: lid, keyPath: \.size)),
                    AnyExpression(Make.build_Arg(maker.pick([1, 3, nil], or: nil))))
            }
            self = maker
            return AnyExpression(made)
        }
    }

    // MARK: Values

    private mutating func number(
        _ thing: Variable<Thing>, _ depth: Int
    ) -> AnyExpression<Int?> {
        switch roll(depth > 0 ? 8 : 4) {
        case 0: return AnyExpression(Make.build_KeyPath(root: thing, keyPath: \.rank))
        case 1: return AnyExpression(Make.build_KeyPath(root: thing, keyPath: \.stars))
        case 2: return AnyExpression(Make.build_Arg(pick([-1, 0, 1, 3, nil], or: nil)))
        case 3: return AnyExpression(Make.build_NilLiteral())
        case 4:
            var maker = self
            let made = Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.rank)) {
                variable in
                maker.numbers.append(AnyExpression(variable))
                defer { maker.numbers.removeLast() }
                return maker.sure(thing, depth - 1)
            }
            self = maker
            return AnyExpression(made)
        case 5:
            return AnyExpression(
                Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.box)) { box in
                    AnyExpression<Int>(
                        Make.build_KeyPath(
                            root: Make.build_KeyPath(root: box, keyPath: \.lids), keyPath: \.count))
                })
        case 6:
            return AnyExpression(
                Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.box)) { box in
                    AnyExpression<Int?>(Make.build_KeyPath(root: box, keyPath: \.size))
                })
        default:
            let other = Int(roll(4))
            return AnyExpression(
                Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.box)) { box in
                    AnyExpression<Int>(
                        Make.build_NilCoalesce(
                            lhs: Make.build_KeyPath(root: box, keyPath: \.size),
                            rhs: Make.build_Arg(other)))
                })
        }
    }

    private mutating func sure(_ thing: Variable<Thing>, _ depth: Int) -> AnyExpression<Int> {
        switch roll(depth > 0 ? 5 : 3) {
        case 0: return AnyExpression(Make.build_Arg(Int(roll(6)) - 1))
        case 1: return AnyExpression(Make.build_UnaryMinus(Make.build_Arg(Int(roll(4)))))
        case 2 where !numbers.isEmpty: return pick(numbers, or: numbers[0])
        case 2: return AnyExpression(Make.build_Arg(3))
        default:
            return AnyExpression(
                Make.build_NilCoalesce(
                    lhs: number(thing, depth - 1), rhs: sure(thing, depth - 1)))
        }
    }

    private mutating func text(
        _ thing: Variable<Thing>, _ depth: Int
    ) -> AnyExpression<String?> {
        switch roll(depth > 0 ? 5 : 3) {
        case 0, 1: return AnyExpression(Make.build_KeyPath(root: thing, keyPath: \.title))
        case 2: return AnyExpression(Make.build_Arg(pick(["a", "none", "", nil], or: nil)))
        case 3:
            return AnyExpression(
                Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.box)) { box in
                    AnyExpression<String?>(Make.build_KeyPath(root: box, keyPath: \.name))
                })
        default:
            return AnyExpression(
                Make.build_flatMap(Make.build_KeyPath(root: thing, keyPath: \.box)) { box in
                    AnyExpression<String>(
                        Make.build_NilCoalesce(
                            lhs: Make.build_KeyPath(root: box, keyPath: \.name),
                            rhs: Make.build_Arg("none")))
                })
        }
    }
}
