//! Link settings of the library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A program may unload the library at once after closing an endpoint, while a thread of the library still
    // closes a socket: its code must stay mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
