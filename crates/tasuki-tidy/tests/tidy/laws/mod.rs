//! One law per file. Each is a function from a [`Tree`](crate::tree::Tree) to what breaks it there.

pub mod arrows;
pub mod blocks;
pub mod changelog;
pub mod comments;
pub mod cycles;
pub mod hooks;
pub mod links;
pub mod records;
pub mod ships;
pub mod sizes;
pub mod words;
