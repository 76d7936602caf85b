struct Order {
    let id: Int

    func total(: Int {
        return lines.sum(
    }
}

extension Order {
    public func save(to db: Database) -> Bool { db.write(self) }
}

func find(id: Int) -> Order? {
    return registry.get(id, )
}
