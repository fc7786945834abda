//! For build scripts: compiles eBPF programs from C with clang.
#![forbid(unsafe_code)]

use std::{env, path::PathBuf, process::Command};

/// Compiles `source`, a path in the crate's folder that ends in `.bpf.c`, to `OUT_DIR/NAME.bpf.o`.
///
/// # Panics
/// Where clang or the kernel's headers are missing, or the program is wrong: that ends the build with what to
/// install.
pub fn compile(source: &str) {
    println!("cargo::rerun-if-changed={source}");
    println!("cargo::rerun-if-env-changed=CLANG");
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let name = PathBuf::from(source).with_extension("o");
    let name = name.file_name().expect("the source is a file");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join(name);
    // Debian keeps <asm/types.h> in a folder per architecture, which clang does not search for the bpf
    // target.
    let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets CARGO_CFG_TARGET_ARCH");
    let status = Command::new(&clang)
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-c", source])
        .arg(format!("-I/usr/include/{arch}-linux-gnu"))
        .arg("-o")
        .arg(&object)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!(
            "{clang} could not compile {source} ({status}); it needs the Debian packages \
             clang, libbpf-dev and linux-libc-dev (`make setup` installs them)"
        ),
        Err(error) => panic!(
            "cannot run {clang}: {error}; install the Debian packages clang, libbpf-dev and \
             linux-libc-dev (`make setup` does)"
        ),
    }
}
