import fallback, { Order as BaseOrder, type Money } from './order';
import * as http from 'node:http';
import type { Basket } from '../types';
import legacy = require('legacy');
import './polyfill';
export { price, total as sum } from './pricing';
export * from './all';
export * as stock from './stock';

const { env, argv: args, ...rest } = require('process');
const [first, second] = pair;
const Settings = require('./settings').Settings;

/**
 * Where orders come from.
 */
export const LIMIT = Number(env.ORDER_LIMIT ?? 10);
let current: Map<string, Order> = new Map<string, Order>();

/** Sends orders. */
@Controller('orders')
export default class OrderService<T extends BaseOrder = BaseOrder>
  extends Base<T>
  implements Sender, http.Handler
{
  private readonly cache: Record<string, T> = {};
  static #instances = 0;
  declare note?: string;

  constructor(
    private readonly client: HttpClient,
    @Inject(TOKEN) public basket?: Basket,
    ...others: T[]
  ) {
    super(client);
    this.client = client;
    this.started = new Date();
    OrderService.#instances++;
  }

  // Finds one order.
  @Get(':id', { cache: true })
  async find(@Param('id') id: string, { strict, depth: level = 1 }: Options, limit?: number): Promise<T | undefined> {
    const found = await this.client.get<T>(`/orders/${id}`);
    const order = this.cache[id] ?? new ns.Order(found, level);
    if (!order) throw new NotFoundError('missing', id);
    order.lines.forEach((line) => line.check(strict, limit ?? LIMIT));
    return order as T;
  }

  get size(): number {
    return Object.keys(this.cache).length;
  }

  set size(value: number) {
    this.cache = resize(this.cache, value);
  }

  override handle = (request: http.Request): void => {
    queueMicrotask(() => this.find(request.id, defaults)!.then(log));
  };

  protected abstract prepare(): void;
  [Symbol.iterator]() {}
}

interface Sender extends Disposable, Repository<Order> {
  send(order: Order, retries?: number): Promise<void>;
  readonly url: string;
  new (name: string): Sender;
  [key: string]: unknown;
}
interface Sender {
  merged: boolean;
}

type Result<T> = { value: T; then(next: (value: T) => void): void } | Failure;
type Shape = { kind: 'circle'; area(): number };

export enum State {
  Open = 'open',
  Done = compute(),
}

declare module 'shop' {
  export function open(name: string): Sender;
}
namespace Shop.Inner {
  export const version = 1;
  export class Nested {}
}

export function parse(text: string): Order;
export function parse(text: Buffer): Order;
export function parse(text: string | Buffer): Order {
  function inner(part: string) {
    return part.trim();
  }
  const helper = (value: number): value is Small => value < LIMIT;
  for (const piece of text.split(',')) current.set(inner(piece), fallback(piece));
  try {
    legacy.run<Order>(helper);
  } catch (error) {
    console.error('failed: %s', error);
  }
  current = sql<Row>`select 1`;
  return current.get(text)!;
}

abstract class Shelf {
  protected abstract size(): number;
}

const lookup = async function named<K extends keyof Order>(key: K) {
  return import('./lazy');
};
app.get<Params>('/orders/:id', async (request: Request, response) => {
  const order = await lookup(request.params.id);
  response.json(order satisfies Json);
});
Shelf.prototype.late = function (this: Shelf, a: number) {};
export { Shelf as Rack, lookup };
