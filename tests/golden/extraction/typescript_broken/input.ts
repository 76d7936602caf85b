import { Order } from './order';

export class Service {
  find(id: string): Order {
    return this.store.get(id);
  }

  broken(first: string, {
    this.find(first

  after(): void {
    helper(this);
  }
}

export function fine(a: number) {
  return a +;
}

const last = (value: Order) => fine(value.
