using System;
using System.Collections.Generic;
using static System.Math;
using Json = Newtonsoft.Json.Linq;

namespace Acme.Shop
{
    /// <summary>Keeps orders.</summary>
    /// <remarks>Thread-safe.</remarks>
    [ApiController, Route("api/[controller]")]
    [Authorize(Policy = "staff")]
    public sealed partial class OrderController<T> : Controller<T>, IStore, Core.IClosable where T : Order, new()
    {
        public const int Limit = 10;
        private readonly ILogger<OrderController<T>> _log = new Logger("orders"), _other;
        protected internal static int count;

        public string Name { get; private set; } = "orders";
        public int Total => _lines.Sum(line => line.Price);
        public Line this[int index] { get { return _lines[index]; } }
        public event EventHandler<OrderArgs> Changed;
        public delegate void Handler(object sender, int code);

        public OrderController(ILogger log, params int[] sizes) : base(log)
        {
            _log = log;
            this.Client = new HttpClient();
        }

        [HttpGet("{id}")]
        public async Task<ActionResult<Order>> Get([FromRoute] int id, CancellationToken cancel = default)
        {
            var order = new Order(id) { State = State.Open };
            Order? found = await _store.FindAsync<Order>(id, cancel);
            using var scope = Open("lock");
            foreach (var line in order.Lines) line?.Check();
            var names = order.Lines.Where(l => l.Active).Select((l, i) => l.Name + i).ToList();
            try { Save(order); }
            catch (IOException error) when (error.HResult > Limit) { throw new StoreException($"order {id}", error); }
            if (found is Special special && found is not null) return special.Cast();
            _log.LogInformation("found {Id}", id);
            services.AddScoped<IStore, Store>();
            count++;
            order.State = State.Done;
            Call(out var code, ref names, named: id);
            int Twice(int value) => value * 2;
            var query = @"SELECT * FROM orders";
            db.Query(query, "fallback");
            Json.JObject.Parse("{}");
            return id switch { 1 => Ok(order), _ => NotFound(nameof(Order)) };
        }

        public override string ToString() => Name;
        public static OrderController<T> operator +(OrderController<T> a, OrderController<T> b) => a;
        public static implicit operator string(OrderController<T> value) => value.Name;
        ~OrderController() { Dispose(); }

        private enum State : byte { Open = 1, Done }
    }

    internal interface IStore : IDisposable { void Put(Order order); int Size { get; } }
    public readonly struct Point { public readonly int X; }
    public record Money(decimal Amount, [property: Json("cur")] Currency Currency) : Value(Amount);
    public partial class Money2 { }
}
