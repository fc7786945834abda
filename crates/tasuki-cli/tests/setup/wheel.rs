//! The Python wheel: what `pip install` of it gives runs MPI programs on one machine, for an ordinary user.
//! `scripts/test-wheel` tries the same with MPIs that pip fetches.

use crate::support::{
    mpis::build, mpis::mpis, mpis::peers, ok, skip_without_root, skip_without_way_in, skipped, text,
};
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The user `nobody`, who has no rights and no home.
const NOBODY: u32 = 65534;

/// A python3 that can make a virtual environment.
fn python() -> Option<PathBuf> {
    let can = |python: &&str| {
        let asked =
            Command::new(python).args(["-c", "import venv, ensurepip"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    ["/usr/bin/python3", "python3"].into_iter().find(can).map(PathBuf::from)
}

/// The wheel of the programs under test.
fn wheel(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built = Path::new(env!("CARGO_BIN_EXE_tasuki")).parent().expect("a folder");
    let mut script = Command::new(root.join("scripts/wheel"));
    script.current_dir(&root).env("BUILT", built).env("OUT", folder).env("TASUKI_TEST_WHEEL", "1");
    PathBuf::from(ok(&mut script).trim())
}

#[test]
fn a_wheel_runs_programs_on_one_machine_without_root() {
    let test = "a_wheel_runs_programs_on_one_machine_without_root";
    if skip_without_root(test) || skip_without_way_in(test) {
        return;
    }
    let Some(python) = python() else {
        return skipped(test, "no python3 with the venv module: python3-venv");
    };
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("sets");
    let wheel = wheel(folder.path());
    // The platform names the newest version of the C library that the programs ask for; the loader of this
    // machine, on which they run, is no older.
    let name = wheel.file_name().expect("a name").to_string_lossy().into_owned();
    let version = name.split("manylinux_2_").nth(1).and_then(|rest| rest.split('_').next());
    let version: u32 = version.and_then(|version| version.parse().ok()).unwrap_or_else(|| panic!("{name}"));
    let local = ok(Command::new("getconf").arg("GNU_LIBC_VERSION"));
    let local: u32 = local.trim().rsplit('.').next().and_then(|minor| minor.parse().ok()).expect("glibc 2.N");
    assert!((17..=local).contains(&version), "{name} on glibc 2.{local}");

    let venv = folder.path().join("venv");
    ok(Command::new(&python).args(["-m", "venv"]).arg(&venv));
    let pip = |argv: &[&str]| {
        let mut pip = Command::new(venv.join("bin/python"));
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(argv);
        ok(&mut pip)
    };
    pip(&["install", "--no-index", &wheel.display().to_string()]);
    let tasuki = |argv: &[&str]| {
        let mut command = Command::new(venv.join("bin/tasuki"));
        let path = format!("{}:/usr/bin:/bin", venv.join("bin").display());
        command.args(argv).env_clear().env("PATH", path).env("HOME", folder.path());
        command.env("TASUKI_PEERS", peers()).current_dir("/").uid(NOBODY).gid(NOBODY);
        command.stdin(Stdio::null()).output().expect("runs")
    };
    assert!(text(&tasuki(&["--version"])).contains(env!("CARGO_PKG_VERSION")));
    for mpi in mpis(test) {
        let hello = build(&mpi, "hello.c", folder.path()).display().to_string();
        let output = tasuki(&["run", "--mpi", mpi.name, "--transport", "tasuki", "-n", "2", &hello]);
        let said = text(&output);
        assert!(output.status.success() && said.contains("ring ok"), "{}: {said}", mpi.name);
        assert!(said.contains("all ranks run on this machine"), "{}: {said}", mpi.name);
    }
    pip(&["uninstall", "--yes", "tasuki"]);
    let left = ok(Command::new("find").arg(&venv).args(["-name", "*tasuki*"]));
    assert_eq!(left, "", "pip takes all of it away");
}
