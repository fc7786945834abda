//! Link settings of the plug-in.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // NCCL unloads a plug-in with its last communicator, while a thread of the engine may still close a
    // socket: its code must stay mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
