//! Link settings of the library.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A program may unload it at once after closing an endpoint, while a thread of it still closes a socket: the code must stay where it is.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
