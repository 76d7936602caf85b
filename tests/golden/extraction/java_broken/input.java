package com.acme;

import java.util.List;

public class Service extends Base {
    private List<Order> orders = new ArrayList<>(;

    public Order find(String id) {
        return store.get(id)
    }

    public void broken(String first, {
        find(first);
    }

    @Override
    public void after() {
        helper(this);
        if (true {
    }

    int last() { return fine(1); }
}
