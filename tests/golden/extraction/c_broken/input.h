#ifndef CART_H
#define CART_H

DEFINE_MAP(cart, const cart_key *, cart *)

struct cart {
	int items;
};

int cart_add(struct cart *cart, int item
{
	return cart->items + item;
}

void cart_close(struct cart *cart) { finish(cart); }

#endif
