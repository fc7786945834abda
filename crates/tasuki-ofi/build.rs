//! Link settings of the provider.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // libfabric unloads its providers when the process ends. A program that ends without closing its endpoints, as MPI_Abort
    // does, still has our threads then: the code must stay where it is.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
