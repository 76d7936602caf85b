package com.shop

class Order(val id: Int) {
    fun total(: Int {
        return lines.sum(
    }

    override fun save(db: Database): Boolean = db.write(this)
}

fun find(id: Int): Order? {
    return registry.get(id, )
}
