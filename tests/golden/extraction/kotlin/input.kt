@file:JvmName("Shop")
package com.shop.orders

import com.shop.model.Order
import com.shop.util.*
import kotlin.math.max as biggest

/** How many. */
const val LIMIT = 10
private val cache: MutableMap<String, Order> by lazy { mutableMapOf() }
var counter = 0
    private set
typealias Handler<T> = (Order, T) -> Unit

/**
 * One order.
 * @property id key
 */
@Serializable
@Table("orders")
data class Line<out T : Any>(
    @SerialName("i") val id: Int = 1,
    private var name: String?,
    count: Long,
) : Base<T>(id), Priced by delegate, java.io.Serializable where T : Comparable<T> {
    val total: Int
        get() = items.sumOf { it.price }
    lateinit var service: OrderService
    private val lazyThing by lazy { Thing("x") }
    init { register(this) }
    constructor(other: Line<T>) : this(other.id, null, 0) { log("copy") }

    override suspend fun save(using: Database, vararg names: String, block: (Int) -> Unit = {}): Result<Order> {
        val made = Order.create("a", 2)
        val other: Order? = null
        var x = Foo<Bar>(1).apply { y = 3 }
        val (a, b) = pair
        this.name = "q"
        counter += 1
        items.filter { line -> line.ok }.map { it.name }.forEach(::println)
        other?.lines!!.first().run()
        for (i in 0..10) { use(i) }
        when (val k = kind()) { is Order -> k.go(); Kind.A -> {}; else -> throw IllegalStateException("bad") }
        try { risky() } catch (e: IOException) { throw e }
        val f = fun(q: Int): Int { return q }
        val obj = object : Listener(), Other { override fun on(e: Event) {} }
        val cast = x as Order
        super.save(using)
        return@save Result.ok(made)
    }
    companion object Factory { const val MAX = 3; @JvmStatic fun of(x: Int) = Line(x) }
    inner class Nested
    enum class Kind(val code: Int) : Coded { A(1), B(2)}
}
sealed interface Shape { fun area(): Double; val sides: Int }
object Registry : Base() { fun add(o: Order) = Unit }
fun <T> List<T>.second(): T = this[1]
inline fun <reified T> String.parse(): T { }
internal abstract class A { protected abstract fun x(): Int; open val y = 1 }
annotation class Ann(val v: String)
fun interface Fn { fun call(x: Int): Int }
value class Id(val v: Int)
operator fun Order.plus(o: Order): Order = this

fun pairs(order: Order) {
    order to Foo.Inner<Bar>(3)
    list.map(Order::name)
    val text = "order $limit of ${order.count}"
    @Suppress("x") val local = order.lines
    throw errors.Lost(text)
}
