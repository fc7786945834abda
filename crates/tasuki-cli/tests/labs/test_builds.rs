//! Commands that are built for tests can fail on purpose, so they carry a marker, and `scripts/install`
//! refuses them.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

/// All that is installed is there to be installed, whatever was added to the repository: a build of programs
/// that do nothing is installed whole.
#[test]
fn everything_that_is_installed_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let (built, to) = (folder.path().join("built"), folder.path().join("root"));
    let source = folder.path().join("tasuki.c");
    let pages = "mkdir -p $1/man $1/completions; touch $1/man/tasuki.1";
    let completions = "for f in tasuki.bash _tasuki tasuki.fish; do touch $1/completions/$f; done";
    let program = format!(
        "#include <unistd.h>\nint main(int c, char **v) {{\nreturn c < 3 ? 0 : execl(\"/bin/sh\", \"sh\", \
         \"-c\", \"{pages}; {completions}\", \"sh\", v[2], (char *)0);\n}}\n"
    );
    fs::write(&source, program).expect("writes");
    for file in [
        "tasuki",
        "tasuki-provider/libtasuki-fi.so",
        "tasuki-provider/libfabric/libfabric.so.1",
        "tasuki-provider/libfabric/libtasuki-openmpi.so",
        "tasuki-provider/nccl/libnccl-net-tasuki.so",
        "tasuki-provider/torch/libtasuki-torch.so",
        "tasuki-provider/omp/libtasuki-omp.so",
        "libtasuki.a",
    ] {
        let file = built.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("makes it");
        let kind = if file.ends_with("libtasuki.a") { "-c" } else { "-g" };
        let status = Command::new("cc").arg(kind).arg(&source).arg("-o").arg(&file).status();
        assert!(status.expect("cc runs").success());
    }
    let mut install = Command::new("scripts/install");
    install.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).arg("install");
    let output = install.env("BUILT", &built).env("DESTDIR", &to).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for file in ["lib/tasuki/omp/libtasuki-omp.so", "share/doc/tasuki/examples/slurm/tasuki_spank.c"] {
        assert!(to.join("usr/local").join(file).is_file(), "{file}");
    }
}

#[test]
fn a_command_that_was_built_for_tests_is_not_installed() {
    let folder = tempfile::tempdir().expect("a folder");
    let built = folder.path().join("built");
    fs::create_dir_all(built.join("tasuki-provider/libfabric")).expect("a folder");
    for file in ["tasuki-provider/libtasuki-fi.so", "libtasuki.a"] {
        fs::write(built.join(file), "").expect("writes");
    }
    for file in ["libfabric.so.1", "libtasuki-openmpi.so"] {
        fs::write(built.join("tasuki-provider/libfabric").join(file), "").expect("writes");
    }
    for file in ["nccl/libnccl-net-tasuki.so", "torch/libtasuki-torch.so", "omp/libtasuki-omp.so"] {
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
