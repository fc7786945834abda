//! Link settings of the provider.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // libfabric unloads its providers when the process ends. In a program that ends without closing its
    // endpoints, as by MPI_Abort, the helper thread still runs then, so that its code must stay mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
