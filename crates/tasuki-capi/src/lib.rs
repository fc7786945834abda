//! The C interface: `include/tasuki.h` states what every function does; this crate builds `libtasuki.so` and `libtasuki.a`.
//!
//! The border has one rule for each danger: panics become `TASUKI_EINTERNAL` ([`guard`]), null pointers `TASUKI_EINVAL`
//! ([`pointer`]), and every structure that crosses has the same layout on both sides ([`types`], tested with a C compiler).

mod address;
mod code;
mod completion;
mod endpoint;
mod guard;
mod options;
mod pointer;
mod post;
mod probe;
mod remote;
mod types;
