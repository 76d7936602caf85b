package shop

import a.b, c.d
import e.given

given intOrd: Ordering[Int] with
  def compare(x: Int, y: Int): Int = 0

extension (s: String)
  def shout(n: Int): String = s.toUpperCase
  def quiet = s

class A(x: Int, val y: String) extends B(x), C:
  val z = 1
  def f(db: Db, names: String*)(using ec: Ec): Unit =
    val q = new Foo[Bar](1)
    if q.ok then q.go("x") else throw Err("x")
    x match
      case Some(v) if v > 1 => v
      case Outer.Inner(w) => w
    count += 1
    this.n = 2
    for i <- 0 to 10 do println(i)
    foo(1)(2)
    foo[Int](1)
    list.map { case (a, b) => a }
    bar { x => x }
  end f

object A:
  lazy val u: Int = 1

enum Tree[+T]:
  case Leaf
  case Node(l: Tree[T])

package inner {
  class Q
}
type Alias[T] = List[T]
val topLevel = 3
@main def run(args: String*): Unit = ()
