//! Detection against real libraries, launchers and programs of this machine. The oracle is the MPI's own
//! compiler wrapper: a program must be found to use the library with which the wrapper links it.

mod common;

use common::{compile, environment, installed, peers, probe};
use std::{ffi::OsString, fs, path::Path};
use tasuki_launch::{Abi, DetectError, Detected, Detector, Environment, Flavour, Mpi};
use tasuki_testkit::scripts::write_program;

fn detect_in(env: &Environment, argv: &[OsString], choice: Option<&str>) -> Result<Detected, DetectError> {
    let (probe, peers) = (probe(), peers());
    Detector { env, probe: &probe, peers: Some(&peers), choice }.detect(argv)
}

fn detect(argv: &[&Path], choice: Option<&str>) -> Result<Detected, DetectError> {
    let argv: Vec<OsString> = argv.iter().map(|word| word.into()).collect();
    detect_in(&environment(), &argv, choice)
}

fn script(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    write_program(&path, text);
    path
}

/// MPIs that have a compiler wrapper, and a hello program compiled with each.
fn programs(folder: &Path) -> Vec<(Mpi, std::path::PathBuf)> {
    let found: Vec<_> =
        installed().into_iter().filter_map(|mpi| compile(&mpi, "hello", folder).map(|p| (mpi, p))).collect();
    if found.is_empty() {
        eprintln!("skipped: no MPI with a compiler wrapper is installed");
    }
    found
}

#[test]
fn a_program_is_found_to_use_the_mpi_that_compiled_it() {
    let folder = tempfile::tempdir().unwrap();
    for (mpi, program) in programs(folder.path()) {
        let found = detect(&[&program], None).unwrap();
        assert_eq!((found.mpi.flavour, &found.mpi.version), (mpi.flavour, &mpi.version));
        assert_eq!(found.mpi.launcher, mpi.launcher, "the launcher of the same installation");
        assert_eq!(found.argv, [program.into_os_string()]);
    }
}

#[test]
fn wrappers_are_looked_through() {
    let folder = tempfile::tempdir().unwrap();
    for (mpi, program) in programs(folder.path()) {
        let found = detect(&[Path::new("env"), Path::new("A=b"), &program, Path::new("x")], None).unwrap();
        assert_eq!(found.mpi, mpi_at(&program));
        assert_eq!(found.mpi.flavour, mpi.flavour);
        assert!(Path::new(&found.argv[0]).is_absolute() && found.argv.len() == 4);
    }
}

fn mpi_at(program: &Path) -> Mpi {
    detect(&[program], None).unwrap().mpi
}

#[test]
fn a_program_moves_to_another_mpi_of_its_abi_and_to_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let all = installed();
    for (own, program) in programs(folder.path()) {
        for other in all.iter().filter(|other| other.id() != own.id()) {
            let found = detect(&[&program], Some(&other.id()));
            if !other.provides(own.flavour.abi()) {
                assert!(matches!(found, Err(DetectError::OtherAbi { .. })), "{} on {}", own.id(), other.id());
                continue;
            }
            match found {
                Ok(found) => {
                    assert_eq!(found.mpi, *other);
                    let (name, path) = &found.env[0];
                    assert_eq!(name, "LD_LIBRARY_PATH");
                    assert!(path.to_string_lossy().starts_with(&*other.library_folder().to_string_lossy()));
                }
                // Debian's MPICH programs ask for libmpich.so.12, which no other MPI has.
                Err(DetectError::Pinned { .. }) if own.prefix() == Path::new("/usr") => {}
                Err(error) => panic!("{} on {}: {error}", own.id(), other.id()),
            }
        }
    }
}

#[test]
fn the_own_mpi_named_in_full_in_part_or_by_prefix_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (mpi, program) in programs(folder.path()) {
        let family = mpi.flavour.name().to_owned();
        let by_prefix = mpi.prefix().to_string_lossy().into_owned();
        for choice in [mpi.id(), format!("{family}{}", mpi.version.major), by_prefix] {
            let found =
                detect(&[&program], Some(&choice)).unwrap_or_else(|error| panic!("{choice}: {error}"));
            assert_eq!(
                (found.mpi.flavour, &found.mpi.version),
                (mpi.flavour, &mpi.version),
                "--mpi {choice}"
            );
            assert!(found.env.iter().all(|(name, _)| name == "LD_LIBRARY_PATH"));
        }
    }
}

#[test]
fn a_library_that_only_ld_library_path_finds_is_found_and_the_path_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    for (mpi, program) in programs(folder.path()) {
        let mut env = environment();
        env.retain(|(name, _)| name != "LD_LIBRARY_PATH");
        env.push(("LD_LIBRARY_PATH".into(), mpi.library_folder().into()));
        let found = detect_in(&env, &[program.into()], None).unwrap();
        assert_eq!(found.env, [("LD_LIBRARY_PATH".into(), mpi.library_folder().into())]);
    }
}

#[test]
fn what_is_no_mpi_program_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let error = |program: &Path| detect(&[program], None).unwrap_err();
    assert!(matches!(error(Path::new("ls")), DetectError::NotMpi { .. }));
    assert!(matches!(error(Path::new("no-such-program-anywhere")), DetectError::NotFound { .. }));
    assert!(matches!(error(Path::new("/nonexistent/program")), DetectError::NotFound { .. }));
    assert!(matches!(error(&script(folder.path(), "text", "hello")), DetectError::NotRunnable(_)));
    let shell = error(&script(folder.path(), "run.sh", "#!/bin/sh\nexec ./hello\n"));
    assert!(shell.to_string().contains("--mpi"), "{shell}");
    let own = script(folder.path(), "loop", &format!("#!{}\n", folder.path().join("loop").display()));
    assert!(matches!(error(&own), DetectError::Script { .. }));
    assert!(matches!(detect(&[], None), Err(DetectError::NoProgram)));
    assert!(matches!(detect(&[Path::new("ls")], Some("no-mpi-9")), Err(DetectError::UnknownChoice { .. })));
    let empty = folder.path().to_string_lossy();
    assert!(matches!(detect(&[Path::new("ls")], Some(&empty)), Err(DetectError::NoMpiAt { .. })));
}

#[test]
fn whoever_names_the_mpi_of_a_script_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let script = script(folder.path(), "run.sh", "#!/bin/sh\nexec ./hello\n");
    for mpi in installed() {
        assert_eq!(detect(&[&script], Some(&mpi.id())).unwrap().mpi, mpi);
    }
}

#[test]
fn a_python_script_without_mpi4py_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let python = script(
        folder.path(),
        "python3.99",
        "#!/bin/sh\necho 'ModuleNotFoundError: No module named mpi4py' >&2; exit 1\n",
    );
    let script = script(folder.path(), "app.py", &format!("#!{}\n", python.display()));
    for argv in [vec![script.as_path()], vec![python.as_path(), script.as_path()]] {
        let error = detect(&argv, None).unwrap_err();
        assert!(error.to_string().contains("No module named mpi4py"), "{error}");
    }
}

/// An interpreter that answers as a Python with mpi4py does: the path of a library and its version text.
#[test]
fn a_python_script_uses_the_mpi_of_mpi4py() {
    let folder = tempfile::tempdir().unwrap();
    for mpi in installed() {
        let version = match mpi.flavour {
            Flavour::OpenMpi4 | Flavour::OpenMpi5 => format!("Open MPI v{}, package: x", mpi.version),
            Flavour::Mpich => format!("MPICH Version:      {}", mpi.version),
            Flavour::Intel => format!("Intel(R) MPI Library {} for Linux* OS", mpi.version),
        };
        let answer =
            format!("#!/bin/sh\necho 'library {}'\necho 'version {version}'\n", mpi.library.display());
        let python = script(folder.path(), "python3", &answer);
        let app = script(folder.path(), "app.py", &format!("#!/usr/bin/env -S {} -u\n", python.display()));
        let found = detect(&[&app], None).unwrap();
        assert_eq!((found.mpi.flavour, &found.mpi.launcher), (mpi.flavour, &mpi.launcher));
    }
}

#[test]
fn every_installed_mpi_has_a_library_of_its_own_abi_and_a_launcher() {
    for mpi in installed() {
        let name = mpi.library.file_name().unwrap().to_str().unwrap();
        assert_eq!(Abi::of_library(name), Some(mpi.flavour.abi()), "{}", mpi.id());
        assert!(mpi.launcher.is_absolute() && mpi.launcher.exists() && mpi.library.exists());
    }
}

#[test]
fn a_library_whose_launcher_is_gone_names_the_package() {
    let folder = tempfile::tempdir().unwrap();
    for (mpi, program) in programs(folder.path()) {
        // A copy of the library far from any launcher, and a PATH without one.
        let lib = folder.path().join("a/b/c/d/e/f/g").join(mpi.id());
        fs::create_dir_all(&lib).unwrap();
        fs::copy(&mpi.library, lib.join(mpi.library.file_name().unwrap())).unwrap();
        let path = std::env::join_paths([
            lib.as_path(),
            mpi.library_folder(),
            &mpi.library_folder().join("openmpi"),
            &mpi.library_folder().join("mpich"),
        ]);
        let env = vec![("PATH".into(), "/nonexistent".into()), ("LD_LIBRARY_PATH".into(), path.unwrap())];
        let error = detect_in(&env, &[program.into()], None).unwrap_err();
        assert!(matches!(error, DetectError::LauncherMissing { .. }), "{}: {error}", mpi.id());
        assert!(error.to_string().contains("comes with"), "{error}");
    }
}
