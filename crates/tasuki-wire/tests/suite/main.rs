//! The wire format against its specification: vectors, round trips, hostile input, and the page itself.

mod cable;
mod caller_errors;
mod corpus;
mod dissector;
mod golden;
mod hostile;
mod independent;
mod judged;
mod round_trip;
mod specification;
mod strategies;
