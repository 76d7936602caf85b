/* Orders of the shop. */
#include <stdio.h>
#include "order.h"

#define LIMIT 50
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LOG(level, ...) shop_log(level, __VA_ARGS__)
#define SHOP_DEBUG

SHOP_BEGIN_DECLS

/** State of an order. */
typedef enum { ORDER_OPEN = 1, ORDER_PAID } order_state;

enum flags { FLAG_NEW, FLAG_OLD = 4 };

typedef struct line line_t;
typedef int (*visit_fn)(const line_t *line, void *data);
typedef unsigned long count_t, *count_ptr;

/* One line
 * of an order. */
struct line {
	line_t *next;
	const char *name;
	unsigned amount : 8;
	int (*price)(const struct line *self, int discount);
	union { int cents; double exact; } cost;
	struct { int x, y; } at;
};

typedef struct order {
	struct line *first;
	order_state state;
	char title[LIMIT];
} order_t, *order_ptr;

typedef struct { int width; } point_t;

static int counter, *last = NULL;
extern const char *shop_name;
static const struct ops default_ops = { .open = order_open, .close = &order_close, };
int (*handlers[2])(int) = { on_open, on_close };

/* Opens an order. */
SHOP_API(int) order_open(order_t *order, const char *name) SHOP_NONNULL(1);
static inline void order_close(order_t *order);
int printer(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int old_style(count, name)
	int count;
	char *name;
{
	return print_name(name, count);
}

int order_open(order_t *order, const char *name)
{
	struct line *line = order->first, copy = { 0 };
	const struct ops *ops = &default_ops;
	order_t local;
	int i, rc = 0;

	if (!order || order->state == ORDER_PAID)
		return -1;
	for (i = 0; i < LIMIT; ++i)
		order->title[i] = name[i];
	order->state = ORDER_OPEN;
	counter++;
	local.first->next = line;
	rc = ops->open("orders" "/open", (order_t *)order, sizeof(point_t));
	(*ops->close)(order);
	LOG(1, "opened %s", name);
	MAX(i, rc);
	visit(line, &on_line);
	*last = (point_t){ .width = 3 }.width;
	goto done;
done:
	return rc;
}

int (*chooser(int which))(char)
{
	return which ? first_choice : NULL;
}

#ifdef SHOP_DEBUG
static void debug_dump(void) { fputs("debug", stderr); }
#else
# define debug_dump()
#endif

SHOP_END_DECLS
