use std::fmt;

/// One order.
pub struct Order {
    id: u32,
    name: String

impl Order {
    pub fn total(&self -> u32 {
        self.id.max(1
    }
}

pub fn save(order: &Order) -> bool {
    order.write("x", )
}
