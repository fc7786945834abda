//! The C interface. The headers `tasuki.h`, `tasuki_shared.h` and `tasuki_checkpoint.h` in `include` state
//! what every function does; this crate builds `libtasuki.so` and `libtasuki.a`.
//!
//! The border to C has one rule for each danger: a panic becomes `TASUKI_EINTERNAL` ([`guard`]), a null
//! pointer becomes `TASUKI_EINVAL` ([`pointer`]), and every structure that crosses the border has the same
//! layout on both sides ([`types`], tested with a C compiler).

mod address;
mod checkpoint;
mod code;
mod completion;
mod endpoint;
mod guard;
mod options;
mod pointer;
mod post;
mod probe;
mod remote;
mod shared;
mod types;
