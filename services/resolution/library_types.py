"""What do the containers, streams and function types of Java's and .NET's libraries hold and give?

Types are named without their package: whoever asks knows that they are the library's. A and B are
a type's first and second argument, Z its last.
"""

from __future__ import annotations

from services.resolution.expressions import EACH, Node, type_of
from services.resolution.values import OUTSIDE, Value

_Table = dict[str, dict[str, str]]  # type -> member -> what it gives


def _table(*groups: tuple[str, str]) -> _Table:
    """Read `types` and `member member = type; member = type`."""
    found: _Table = {}
    for names, members in groups:
        told = {
            member: result.strip()
            for part in members.split(";")
            for given, _, result in [part.partition("=")]
            for member in given.split()
        }
        for name in names.split():
            found.setdefault(name, {}).update(told)
    return found


_JAVA_LISTS = (
    "Iterable Collection SequencedCollection List ArrayList LinkedList Vector Stack Set HashSet "
    "LinkedHashSet SortedSet NavigableSet TreeSet Queue Deque ArrayDeque PriorityQueue "
    "BlockingQueue BlockingDeque LinkedBlockingQueue ArrayBlockingQueue PriorityBlockingQueue "
    "LinkedBlockingDeque ConcurrentLinkedQueue ConcurrentLinkedDeque CopyOnWriteArrayList "
    "CopyOnWriteArraySet ConcurrentSkipListSet"
)
_JAVA_MAPS = (
    "Map HashMap LinkedHashMap TreeMap SortedMap NavigableMap ConcurrentMap ConcurrentHashMap "
    "ConcurrentSkipListMap WeakHashMap IdentityHashMap EnumMap Hashtable"
)
_JAVA = _table(
    (
        _JAVA_LISTS,
        "iterator listIterator descendingIterator = Iterator<A>; stream parallelStream = Stream<A>;"
        "get getFirst getLast removeFirst removeLast remove pop peek poll pollFirst pollLast"
        " peekFirst peekLast element first last floor ceiling higher lower take takeFirst takeLast"
        " set firstElement lastElement elementAt push = A;"
        "toArray = A[]; subList reversed = List<A>; headSet tailSet subSet descendingSet = Set<A>",
    ),
    ("Iterator ListIterator Enumeration", "next previous nextElement = A"),
    (
        "Stream",
        "filter sorted distinct limit skip peek takeWhile dropWhile parallel sequential unordered"
        " onClose = Stream<A>; map flatMap mapMulti mapToInt mapToLong mapToDouble = Stream<?>; findFirst findAny min max = Optional<A>; toList = List<A>;"
        "toSet = Set<A>; iterator = Iterator<A>; toArray = A[]; collect reduce = ?",
    ),
    (
        "Optional",
        "get orElse orElseThrow orElseGet = A; filter or = Optional<A>; stream = Stream<A>;"
        "map flatMap = Optional<?>",
    ),
    (
        _JAVA_MAPS,
        "get getOrDefault put remove putIfAbsent computeIfAbsent computeIfPresent compute merge"
        " replace = B; values = Collection<B>; keySet navigableKeySet = Set<A>;"
        "entrySet = Set<Entry<A,B>>; firstKey lastKey floorKey ceilingKey higherKey lowerKey = A;"
        "firstEntry lastEntry floorEntry ceilingEntry pollFirstEntry pollLastEntry = Entry<A,B>;"
        "headMap tailMap subMap descendingMap = Map<A,B>",
    ),
    ("Entry", "getKey = A; getValue setValue = B"),
    ("Enum", "valueOf = A; values = A[]"),
    (
        "Supplier Provider ThreadLocal Reference WeakReference SoftReference Callable Future "
        "CompletableFuture CompletionStage AtomicReference",
        "get call join getNow getAndSet getPlain getAcquire updateAndGet getAndUpdate resultNow"
        " = A",
    ),
    ("CompletionStage", "toCompletableFuture = CompletableFuture<A>"),
    (
        "CompletableFuture CompletionStage",
        "whenComplete whenCompleteAsync exceptionally orTimeout completeOnTimeout copy"
        " = CompletableFuture<A>; thenApply thenApplyAsync thenCompose thenCombine thenAccept"
        " thenRun handle = CompletableFuture<?>",
    ),
    ("Function BiFunction", "apply = Z"),
    ("UnaryOperator BinaryOperator", "apply = A"),
    ("Comparator", "reversed thenComparing nullsFirst = Comparator<A>"),
    (
        "Consumer BiConsumer Predicate BiPredicate ToIntFunction ToLongFunction ToDoubleFunction",
        "accept test = ?",
    ),
    ("Class", "cast newInstance = A"),
)
_DOTNET_LISTS = (
    "IEnumerable ICollection IList IReadOnlyList IReadOnlyCollection List HashSet ISet SortedSet "
    "IReadOnlySet LinkedList Queue Stack PriorityQueue Collection ObservableCollection "
    "ReadOnlyCollection ConcurrentBag ConcurrentQueue ConcurrentStack BlockingCollection "
    "ImmutableArray ImmutableList ImmutableHashSet IImmutableList IQueryable IOrderedQueryable "
    "IOrderedEnumerable IAsyncEnumerable IEnumerator IAsyncEnumerator IGrouping DbSet Span "
    "ReadOnlySpan []"
)
_DOTNET_ABOVE = frozenset({"ICollection", "IList", "IReadOnlyCollection", "IReadOnlyList"})
_LAZY = frozenset(
    {"IEnumerable", "IQueryable", "IOrderedQueryable", "IOrderedEnumerable", "IAsyncEnumerable"}
)  # fmt: skip
_DOTNET_MAPS = (
    "Dictionary IDictionary IReadOnlyDictionary SortedDictionary SortedList ConcurrentDictionary "
    "ImmutableDictionary IImmutableDictionary FrozenDictionary ReadOnlyDictionary"
)
_LINQ_SAME = (
    "Where Take TakeLast TakeWhile Skip SkipLast SkipWhile Distinct DistinctBy Concat Union UnionBy"
    " Except ExceptBy Intersect IntersectBy Reverse Append Prepend AsEnumerable DefaultIfEmpty"
    " Order OrderDescending OfType Cast"
)
_LINQ_ONE = (
    "First FirstOrDefault Last LastOrDefault Single SingleOrDefault ElementAt ElementAtOrDefault"
    " MinBy MaxBy FirstAsync FirstOrDefaultAsync LastAsync LastOrDefaultAsync SingleAsync"
    " SingleOrDefaultAsync"
)
_DOTNET = _table(
    (
        _DOTNET_LISTS,
        f"{_LINQ_SAME} = IEnumerable<Z>; {_LINQ_ONE} Find FindLast FindAsync Dequeue Peek Pop = Z;"
        "OrderBy OrderByDescending ThenBy ThenByDescending = IOrderedEnumerable<Z>;"
        "ToList ToListAsync GetRange FindAll = List<Z>; ToArray ToArrayAsync = Z[];"
        "ToHashSet = HashSet<Z>; AsReadOnly = ReadOnlyCollection<Z>;"
        "AsQueryable AsNoTracking AsTracking Include AsSplitQuery IgnoreQueryFilters"
        " = IQueryable<Z>; AsAsyncEnumerable = IAsyncEnumerable<Z>;"
        "Select SelectMany GroupBy Zip Join GroupJoin = IEnumerable<?>;"
        "ToDictionary ToLookup = Dictionary<?,?>; GetEnumerator = IEnumerator<Z>; Aggregate Max Min ConvertAll = ?; Current = Z; Chunk = IEnumerable<Z[]>;"
        "[] [*] = Z",
    ),
    (
        _DOTNET_MAPS,
        f"{_LINQ_SAME} = IEnumerable<KeyValuePair<A,B>>; {_LINQ_ONE} [*] = KeyValuePair<A,B>;"
        "OrderBy OrderByDescending = IOrderedEnumerable<KeyValuePair<A,B>>;"
        "ToList = List<KeyValuePair<A,B>>; ToArray = KeyValuePair<A,B>[];"
        "Select SelectMany GroupBy = IEnumerable<?>; Values = ICollection<B>; Keys = ICollection<A>;"
        "GetValueOrDefault GetOrAdd AddOrUpdate [] = B",
    ),
    ("PriorityQueue", "Dequeue Peek = A"),
    ("IGrouping", "Key = A"),
    ("KeyValuePair", "Key = A; Value = B"),
    ("Lazy Nullable IOptions IOptionsSnapshot AsyncLocal ThreadLocal StrongBox", "Value = A"),
    ("Nullable", "GetValueOrDefault = A"),
    ("IOptionsMonitor", "CurrentValue Get = A"),
    ("Func", "Invoke () = Z"),
    ("Task", "ConfigureAwait GetAwaiter GetResult AsTask WaitAsync Result = A"),
    (
        "Action Predicate Comparison EventHandler Converter IComparer IEqualityComparer",
        "Invoke = ?",
    ),
)
_MEMBERS = {"jvm": _JAVA, "csharp": _DOTNET}
_READ = frozenset({"Values", "Keys", "Key", "Value", "Current", "CurrentValue", "Result"})
_PACKAGES = {"jvm": ("java", "builtins"), "csharp": ("",)}

FLATTENING = frozenset(
    {"flatMap", "SelectMany", "thenCompose"}
)  # what they make holds the elements
CONVERTING = frozenset({"OfType", "Cast"})  # methods whose type argument is what the result holds

# What a function type is called with, "*" for each of its arguments in order.
_FUNCTIONS = {
    "Function": ("A",), "BiFunction": ("A", "B"), "UnaryOperator": ("A",), "Consumer": ("A",),
    "BiConsumer": ("A", "B"), "Predicate": ("A",), "BiPredicate": ("A", "B"),
    "BinaryOperator": ("A", "A"), "Comparator": ("A", "A"), "ToIntFunction": ("A",),
    "ToLongFunction": ("A",), "ToDoubleFunction": ("A",), "Comparison": ("A", "A"),
    "Converter": ("A",), "EventHandler": ("", "A"), "Func": ("*",), "Action": ("*",),
}  # fmt: skip
_OF_PAIRS = {"forEach": "AB", "replaceAll": "AB", "compute": "AB", "computeIfPresent": "AB"}
_OF_PAIRS |= {"computeIfAbsent": "A", "merge": "BB"}
_OF_TWO = frozenset({"sort", "sorted", "min", "max", "Sort"})
_NOT_HANDED = frozenset(
    {"reduce", "collect", "exceptionally", "toArray", "Aggregate", "Join", "GroupJoin", "thenComparing"}
)  # fmt: skip


def is_known(family: str, name: str, package: str) -> bool:
    """Is it a type of the library, by its simple name and where it is looked for?"""
    return name in _MEMBERS.get(family, ()) and package.startswith(_PACKAGES[family])


def is_modelled(value: Value, family: str) -> bool:
    return value.path in _MEMBERS.get(family, ())


def is_above(wanted: Value, value: Value) -> bool:
    """Is a type of .NET's library, as far as it can be told, another one or above it?"""
    if not wanted.path and not value.path:  # text and numbers, which are not told apart
        return wanted.name == value.name == "builtins" or value.name == "str"
    if wanted.path == value.path:
        return True
    if value.path in _DOTNET_MAPS.split():
        return wanted.path in ("IDictionary", "IReadOnlyDictionary")
    if value.path not in _DOTNET_LISTS.split():
        return False
    return wanted.path == "IEnumerable" or (
        wanted.path in _DOTNET_ABOVE and value.path not in _LAZY and wanted.path != value.path
    )


def is_told(value: Value, name: str, family: str) -> bool:
    """Does what a member gives depend on type arguments? If not, it is of the library as well."""
    return name in _MEMBERS[family].get(value.path, ()) or (
        family == "csharp" and bool(wrapper_with(name))
    )


def is_read(name: str) -> bool:
    """Is a member a property, which nobody calls?"""
    return name in _READ


def wrapper_with(name: str, may_be_null: bool = False) -> str:
    """Return which type has a member that is otherwise taken for what it holds; "" for none."""
    if name in _DOTNET["Task"]:
        return "Task"
    return "Nullable" if may_be_null and name in _DOTNET["Nullable"] else ""


def gives(value: Value, name: str, family: str) -> Value | None:
    """Return what a member gives when it is called or read; an index, a loop or a call as well."""
    told = _MEMBERS[family].get(value.path, {}).get(name)
    if told is None and family == "csharp" and wrapper_with(name):
        return value  # a task of it: what is awaited stands for its result
    return _made(type_of(told), value) if told is not None else None


def _made(node: Node | None, value: Value) -> Value | None:
    if node is None:
        return None
    name, inner = node
    if name in ("A", "B", "Z"):
        at = {"A": 0, "B": 1}.get(name, len(value.arguments) - 1)
        return value.arguments[at] if at < len(value.arguments) else None
    return Value(
        OUTSIDE, name=value.name, arguments=tuple([_made(one, value) for one in inner]), path=name
    )


def hands(value: Value, name: str, parameter: int) -> Value | None:
    """Return what a method of a container hands to a function as one of its parameters."""
    if name in _NOT_HANDED or not value.arguments:
        return None
    if value.path in _JAVA_MAPS.split():
        told = _OF_PAIRS.get(name, "")
        return _made((told[parameter], ()), value) if parameter < len(told) else None
    if value.path in _DOTNET_MAPS.split():
        return gives(value, EACH, "csharp") if parameter == 0 else None
    if parameter == 0 or (parameter == 1 and name in _OF_TWO):
        return value.arguments[-1]
    return None


def parameter_of(value: Value, parameter: int) -> Value | None:
    """Return a parameter of a function of one of the library's function types."""
    told = _FUNCTIONS.get(value.path, ())
    if told == ("*",):
        most = len(value.arguments) - (value.path == "Func")
        return value.arguments[parameter] if parameter < most else None
    named = told[parameter] if parameter < len(told) else ""
    return _made((named, ()), value) if named else None
