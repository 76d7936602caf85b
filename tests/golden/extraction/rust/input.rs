//! The shop.
#![allow(dead_code)]

extern crate serde as sd;

use std::{collections::HashMap, fmt::{self, Display as Show}, io::*};
use super::config::Config;
pub use self::stock::Shelf;
pub(crate) use crate::a::b as c;
use log as _;

mod other;
#[path = "odd.rs"]
pub mod odd;

/// How many orders there may be.
pub const LIMIT: usize = 10;
static mut COUNTER: AtomicUsize = AtomicUsize::new(0);
pub type Outcome<T> = std::result::Result<T, Error>;

lazy_static! {
    /// Finds numbers.
    pub static ref NUMBER: Regex = Regex::new(r"\d+").unwrap();
}

/// Writes a name twice.
#[macro_export]
macro_rules! twice {
    ($name:expr) => { helper($name, $crate::util::join($name)) };
}

pub mod stock {
    use super::*;

    /** A shelf. */
    #[derive(Debug, Clone)]
    pub struct Shelf<'a, T: Display + 'a> where T: Clone {
        /// What it says.
        #[serde(rename = "n")]
        pub label: &'a str,
        pub(crate) items: Vec<T>,
        check: Box<dyn Fn(i32) -> bool>,
    }

    struct Empty;
    pub struct Pair(pub u32, String);
}

/// What can be priced.
pub trait Priced: Display + Send + fmt::Debug {
    const DIGITS: u32;
    type Amount: Default;
    fn price(&self) -> Self::Amount;
    /// Says it aloud.
    fn say(&self) -> String {
        self.price().to_string()
    }
}

#[derive(Debug)]
pub enum Event {
    Opened,
    #[serde(skip)]
    Paid(i32, String),
    Moved { from: Place },
    Closed = 4,
}

union Bits {
    whole: u32,
}

impl<'a, T> stock::Shelf<'a, T> where T: Clone {
    pub const SIZE: usize = 3;

    pub async fn new(label: &'a str, mut count: usize, (low, _): (i32, i32)) -> Self {
        let mut found = Order::find("a");
        let lines: Vec<Line> = Vec::<Line>::new();
        let order = Order { id: 1, label, ..Default::default() };
        let Order { id, label: text } = order;
        if let Some(first) = found.get(1) {
            first.run(text)?;
        }
        let Some(rest) = found.rest() else { return Err(Fault::new("gone")) };
        match rest {
            Event::Opened => 1,
            Event::Paid(amount, _) if amount > LIMIT => 2,
            Event::Moved { from } => from.id,
            None | MISSING => 3,
            other @ 4..=5 => other,
            _ => panic!("bad {}", low),
        };
        let add = |left: Line, right| left + right;
        'outer: for (index, item) in found.iter().enumerate() {
            continue 'outer;
        }
        println!("hello {}", order.lines.first().name);
        assert_eq!(super::add(1)?, twice!(Order { id: LIMIT }), "for {}", State::Open);
        unsafe { COUNTER += 1 };
        Self { label, items: vec![], check: Box::new(move |n| n > count) }
    }

    pub(super) fn fill<U>(&mut self, pair: (i32, U)) -> Result<(), Box<dyn Error>>
    where
        U: Into<T>,
    {
        self.items.push(pair.1.into());
        self.count += 1;
        self.place.row = 3;
        let number = parse::<u32>("x")?;
        let sorted = self.items.iter().collect::<Vec<_>>();
        let made = <Order as Make>::make(number);
        let boxed = Arc::new(Order::default());
        let awaited = fetch(&mut self.client).await?;
        let cast = sorted as Wide;
        std::mem::swap(made, boxed);
        add(awaited, cast)
    }

    unsafe fn danger(self: Box<Self>) {}
    extern "C" fn call(raw: *const u8) {}
}

impl<T> Priced for stock::Shelf<'_, T> {
    type Amount = u8;
    fn price(&self) -> u8 {
        Self::SIZE
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{:?}", self)
    }
}

impl<T: Priced> Sold for Vec<T> {
    fn sell(self) {}
}

#[get("/orders/<id>")]
#[tokio::main]
pub async fn show(id: u32, #[cfg(test)] db: &State<Db>) -> impl Responder + '_ {
    db.find(id).map_err(Fault::from)
}

pub const fn zeros<const N: usize>() -> [u8; N] {
    [0; N]
}

extern "C" {
    fn strlen(text: *const u8, ...) -> usize;
    static ERRNO: i32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sells() {
        let shelf = Shelf::new("a", 1);
        assert!(shelf.client.get("/x").await?.status() == 200);
    }
}
