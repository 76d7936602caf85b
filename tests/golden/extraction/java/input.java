package com.acme.shop;

import com.acme.core.*;
import java.util.List;
import java.util.Map.Entry;
import static java.util.stream.Collectors.toList;

/** Keeps orders. */
@Service("orders")
@RequestMapping(path = "/orders", produces = {"application/json"})
public abstract class OrderService<T extends Order> extends Base<T> implements Store<T>, core.Closeable {
    private static final int LIMIT = 10, FLOOR = 1;
    @Autowired protected List<Line> lines = new ArrayList<>();
    private volatile core.Client client;
    long count;

    static {
        Registry.register("orders", LIMIT);
    }

    public OrderService(@Qualifier("main") core.Client client, int... sizes) throws StartException {
        super(client);
        this.client = client;
        this.count = sizes.length;
    }

    /**
     * Finds an order.
     *
     * @param id its number
     */
    @Override
    @GetMapping({"/{id}", "/by-id/{id}"})
    public <U extends T> U find(final String id, Entry<String, U> entry) throws NotFound, IOException {
        Order order = new Order(id, LIMIT), other;
        var found = client.get(id).stream().map(Order::total).filter(x -> x.open(entry)).collect(toList());
        for (Line line : lines) line.check();
        try (Handle handle = open("lock"); closer) {
            handle.write(found);
        } catch (IOError | core.Broken error) {
            throw new StoreException("broken", /* why */ error);
        }
        if (order instanceof Special special && (Paid) order != null) return special.cast();
        count++;
        this.count += FLOOR;
        order.state = State.OPEN;
        Runnable task = new Runnable() {
            @Override public void run() { save(order); }
        };
        int[] sizes = {1, 2};
        switch (order.state) {
            case OPEN -> log.info("open {}", order);
            default -> throw new IllegalStateException();
        }
        outer:
        while (true) break outer;
        return new core.Reader<U>(entry).read();
    }

    abstract void prepare(T order);

    void prepare(T order, boolean force) { prepare(order); }

    public enum State implements Labelled {
        OPEN("open"),
        DONE("done") {
            @Override String label() { return "finished"; }
        };

        private final String text;

        State(String text) { this.text = text; }
    }

    interface Listener extends EventListener {
        int PRIORITY = 1;

        void onChange(Order order);

        default boolean active() { return PRIORITY > 0; }
    }

    public record Point(int x, @NotNull Label label) implements Shape {
        public Point {
            if (x < 0) throw new IllegalArgumentException("negative");
        }

        static Point origin() { return new Point(0, null); }
    }

    @Retention(RUNTIME)
    @interface Marker {
        String value() default "";
    }
}
