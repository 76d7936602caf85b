package com.shop
package orders

import scala.collection.mutable.{Map => MMap, Set, _}
import com.shop.model.Order
import cats.syntax.all._
import foo.bar.*
import a.b as c

/** How many. */
object Limits {
  final val Max = 10
  private[shop] lazy val cache: MMap[String, Order] = MMap.empty
}

/** One order.
  * @param id key
  */
@Table("orders")
@deprecated
final case class Line[+T <: Any](id: Int, private val name: String = "x")(implicit ec: ExecutionContext)
    extends Base[T](id) with Priced with java.io.Serializable {
  val total: Int = items.map(_.price).sum
  var count = 0
  type Amount = Int
  def this(other: Line[T]) = this(other.id)
  override def save[U](db: Database, names: String*)(block: Int => Unit): Future[Order] = {
    val made = Order.create("a", 2)
    val other: Order = null
    var x = new Foo[Bar](1) with Baz
    val (a, b) = pair
    val Some(q) = opt
    this.count = 3
    count += 1
    items.filter(line => line.ok).map { i => i.name } foreach println
    for { l <- lines; n = l.name if n.ok } yield l.run(n)
    kind match {
      case Order(i, _) if i > 1 => i.go()
      case k: Kind => k.go()
      case Kind.A | Kind.B =>
      case other @ Line(z) => other.x
      case _ => throw new IllegalStateException("bad")
    }
    try risky() catch { case e: IOException => throw e } finally done()
    val f = (q: Int) => q + 1
    val obj = new Listener { override def on(e: Event): Unit = {} }
    val s = s"text $name ${other.field}"
    val cast = x.asInstanceOf[Order]
    super.save(db)
    list map transform
    made
  }
  private def helper: Int = 1
}
object Line { implicit val ord: Ordering[Line] = ???; def apply(x: Int) = new Line(x) }
sealed trait Shape { def area: Double; val sides: Int }
abstract class A private[shop] (val y: Int) { protected def x(): Int }
enum Color(val rgb: Int) extends Enum[Color] { case Red extends Color(1); case Green, Blue }
trait Service[F[_]] extends Base { self: Other => def run(in: Int): F[Unit] }
implicit class RichInt(val i: Int) extends AnyVal { def twice = i * 2 }
package object util { def go() = 1 }
def top(x: Int): Int = x
