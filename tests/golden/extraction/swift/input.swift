import Foundation
@testable import Shop.Orders
import struct Foundation.Date

/// How many.
public let limit = 10
private var cache: [String: Order] = [:]
typealias Handler<T> = (Order, T) -> Void

/// One order.
@objc(SHOrder)
@available(iOS 13, *)
public final class Order<T: Codable>: Base<T>, Priced, Foundation.NSCopying where T: Hashable {
    static let shared = Order()
    @Published private(set) var name: String? = nil
    let id: Int, other: Line
    weak var delegate: OrderDelegate?
    lazy var service: OrderService = OrderService(id: 1)
    var total: Int { return lines.reduce(0) { $0 + $1.price } }
    var count: Int = 0 { didSet { update(count) } }
    init(id: Int, name: String? = nil) throws { self.id = id; super.init() }
    convenience init?(coder: NSCoder) { fatalError("x") }
    deinit { stop() }
    subscript(index: Int) -> Line { get { lines[index] } }
    @discardableResult
    override public func save(using db: Database, _ names: String..., then block: @escaping (Int) -> Void = { _ in }) async throws -> Result<Order, Error> {
        let made = Order.create("a", 2)
        let other: Order? = nil
        var x = Foo<Bar>(1)
        let (a, b) = pair
        self.name = "q"
        count += 1
        lines.filter { line in line.ok }.map { $0.name }
        other?.lines!.first?.run()
        for i in 0..<10 { use(i) }
        guard let first = other, case .open(let k) = state else { throw OrderError.missing("gone") }
        switch state { case .open(let value): value.go(); case Kind.a, .b: break; default: fatalError() }
        do { try risky() } catch let e as NetError { throw e } catch { print(error) }
        if #available(iOS 13, *) {}
        let cast = x as! Order
        try await super.save(using: db)
        let closure: (Int) -> Int = { [weak self] (n: Int) -> Int in self?.go(n) ?? n }
        return .success(made)
    }
    enum Kind: String, CaseIterable { case a, b = "bee"; case open(Int, label: String); func g() {} }
    struct Inner { var z = 1 }
}
public protocol Priced: AnyObject, Hashable { associatedtype Amount: Numeric; var price: Int { get }; func sum(_ x: Int) -> Int; init(x: Int) }
extension Order: Sendable where T: Equatable { func extra() {} ; static func == (l: Order, r: Order) -> Bool { true } }
extension Array { func second() -> Element { self[1] } }
func apply<T>(_ f: (T) -> Int, to x: T) rethrows -> Int { try f(x) }
actor Store { func add(_ o: Order) async {} }
struct ContentView: View { @State var n = 0; var body: some View { Text("hi").padding() } }
#if DEBUG
func dbg() {}
#endif
infix operator +++

extension Order.Kind: Priced {
    static let first = Kind.a
    func mixed(_ value: Any?) -> Int {
        if let line = value as? Line, let next = Order.find(1) { line.use(next) }
        while case .some(let entry) = iterator.next() { entry.go() }
        for (key, amount) in totals where amount > 1 { key.count += amount }
        let text = "total \(limit) of \(other.field)", size = Foo.shared.size
        switch value { case let .pair(left, right): left.join(right); case let line as Line: line.go(); default: break }
        throw OrderError.gone
    }
}
