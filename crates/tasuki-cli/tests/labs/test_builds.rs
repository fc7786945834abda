//! Commands that are built for tests can fail on purpose, so they carry a marker, and `scripts/install`
//! refuses them.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

#[test]
fn a_command_that_was_built_for_tests_is_not_installed() {
    let folder = tempfile::tempdir().expect("a folder");
    let built = folder.path().join("built");
    fs::create_dir_all(built.join("tasuki-provider/libfabric")).expect("a folder");
    for file in ["tasuki-provider/libtasuki-fi.so", "libtasuki.a"] {
        fs::write(built.join(file), "").expect("writes");
    }
    for file in ["libfabric.so.1", "libtasuki-mrecv.so"] {
        fs::write(built.join("tasuki-provider/libfabric").join(file), "").expect("writes");
    }
    for file in ["nccl/libnccl-net-tasuki.so", "omp/libtasuki-omp.so"] {
        let file = built.join("tasuki-provider").join(file);
        fs::create_dir(file.parent().expect("a folder")).expect("makes it");
        fs::write(file, "").expect("writes");
    }
    symlink(env!("CARGO_BIN_EXE_tasuki"), built.join("tasuki")).expect("links");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let install = || {
        let mut install = Command::new("scripts/install");
        install.current_dir(&root).env("BUILT", &built).env("DESTDIR", folder.path().join("root"));
        install.output().expect("runs")
    };
    let output = install();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("built/tasuki was built for tests"), "{said}");
    assert!(!folder.path().join("root").exists(), "nothing is put anywhere");

    // A file without the marker is not refused for that reason: the script goes on to the next problem of
    // this folder.
    fs::remove_file(built.join("tasuki")).expect("removes");
    fs::write(built.join("tasuki"), "no marker").expect("writes");
    let said = String::from_utf8_lossy(&install().stderr).into_owned();
    assert!(!said.contains("built for tests"), "{said}");
}
