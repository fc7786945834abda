//! Shared memory with real pages, between processes that are threads here: each has its own copy of the
//! memory, at another address, and reaches the others over UDP.

mod leaving;
mod litmus;
mod meetings;
mod nodes;
mod programs;
mod signals;
