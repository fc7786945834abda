//! Virtual machines with stock kernels and emulated NICs: the Debian package, and setting up, checking and
//! undoing with real drivers: `make test-guests`.

#[path = "../support/mod.rs"]
mod support;

mod bonding;
mod boot;
mod delay;
mod forget;
mod package;
