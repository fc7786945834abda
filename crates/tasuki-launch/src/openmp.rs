//! OpenMP programs on several hosts: the library that takes the place of gcc's, and the programs that it
//! serves.

use crate::{
    Environment, detect::DetectError, elf, front::is_plain, loader::shared_libraries, provider::Provider,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// The library, below the provider's folder.
const FILE: &str = "omp/libtasuki-omp.so";
/// Loads the library `$0` before a program.
const SCRIPT: &str = r#"test -r "$0" || { echo "tasuki omp: $(uname -n) has no $0 that this user can read: \
install the same Tasuki on all hosts" >&2; exit 1; }
LD_PRELOAD=$0 exec "$@""#;

/// Why a program cannot be spread over hosts.
#[derive(Debug, thiserror::Error)]
pub enum OpenMpError {
    /// The library is not there.
    #[error("there is no {}: `make build` makes it, and packages have it", .0.display())]
    NoLibrary(PathBuf),
    /// The loader cannot be told where it lies.
    #[error("{} cannot be loaded before a program: its path has a space, or one of : ; $", .0.display())]
    Name(PathBuf),
    /// The program cannot be read, or its loader does not answer.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// The program is linked statically, or none.
    #[error("{}: {why}", program.display())]
    Unfit {
        /// The program.
        program: PathBuf,
        /// Why, and what to do.
        why: String,
    },
}

/// The library that runs OpenMP programs on several hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenMp {
    library: PathBuf,
}

impl OpenMp {
    /// The library that belongs to a provider.
    ///
    /// # Errors
    /// If it is not there.
    pub fn of(provider: &Provider) -> Result<Self, OpenMpError> {
        let library = provider.folder.join(FILE);
        if !library.is_file() {
            return Err(OpenMpError::NoLibrary(library));
        }
        if !is_plain(library.as_os_str()) {
            return Err(OpenMpError::Name(library));
        }
        Ok(Self { library })
    }

    /// Finds out whether a program is one of gcc's OpenMP, linked dynamically, without an MPI.
    ///
    /// # Errors
    /// If it is not: why, and what to do.
    pub fn check(program: &Path, env: &Environment) -> Result<(), OpenMpError> {
        let unfit = |why: &str| OpenMpError::Unfit { program: program.into(), why: why.into() };
        let kind =
            elf::kind(program).map_err(|source| DetectError::Unreadable { path: program.into(), source })?;
        match kind {
            elf::Kind::Dynamic { .. } => {}
            elf::Kind::Static => {
                return Err(unfit("it is linked statically; link it dynamically (without -static)"));
            }
            _ => return Err(unfit("it is no program: name the OpenMP program itself, not a script")),
        }
        let libraries = shared_libraries(program, env)?;
        let has = |stem: &str| libraries.iter().any(|library| library.name.starts_with(stem));
        if has("libmpi") {
            return Err(unfit("it uses MPI: start it with `tasuki run`, and give its ranks threads"));
        }
        match (has("libgomp.so.1"), has("libomp.so") || has("libiomp5.so")) {
            (true, _) => Ok(()),
            (false, true) => {
                Err(unfit("it was built by clang or Intel's compiler; build it with gcc -fopenmp"))
            }
            (false, false) => Err(unfit("it does not use OpenMP; build it with gcc -fopenmp")),
        }
    }

    /// The command that runs a program with its arguments on a host. It ends with words where the library is
    /// not there: the loader would go on without it, and each process would run the whole program.
    pub fn command(&self, program: &Path, arguments: &[OsString]) -> Vec<OsString> {
        let mut argv: Vec<OsString> = vec!["/bin/sh".into(), "-c".into(), SCRIPT.into()];
        argv.extend([self.library.clone().into_os_string(), program.into()]);
        argv.extend_from_slice(arguments);
        argv
    }

    /// The variables of every process, as `NAME=VALUE`. `threads`: of each process; `profile`: a file for it,
    /// or `-` for what is said at the end alone.
    pub fn exports(&self, threads: u32, profile: Option<&Path>) -> Vec<String> {
        let mut exports = vec!["TASUKI_OMP=1".into(), format!("OMP_NUM_THREADS={threads}")];
        exports.extend(profile.map(|file| format!("TASUKI_OMP_PROFILE={}", file.display())));
        exports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, process::Command};

    #[test]
    fn it_is_found_beside_the_provider() {
        let folder = tempfile::tempdir().unwrap();
        let provider =
            Provider { folder: folder.path().into(), library: folder.path().join("libtasuki-fi.so") };
        let place = folder.path().join("omp/libtasuki-omp.so");
        assert!(OpenMp::of(&provider).unwrap_err().to_string().starts_with("there is no /"));
        fs::create_dir(folder.path().join("omp")).unwrap();
        fs::write(&place, "ELF").unwrap();
        let library = OpenMp::of(&provider).unwrap();
        assert_eq!(library.exports(3, None), ["TASUKI_OMP=1", "OMP_NUM_THREADS=3"]);
        assert_eq!(library.exports(1, Some(Path::new("a.json")))[2], "TASUKI_OMP_PROFILE=a.json");
        let run = || {
            let argv = library.command(Path::new("/bin/echo"), &["a b".into()]);
            Command::new(&argv[0]).args(&argv[1..]).output().unwrap()
        };
        // The loader says that this file is no library, and goes on.
        assert_eq!(run().stdout, b"a b\n");
        fs::remove_file(&place).unwrap();
        let output = run();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.stdout.is_empty() && output.status.code() == Some(1), "{told}");
        assert!(told.contains(&format!("has no {} that this user can read", place.display())), "{told}");
    }

    #[test]
    fn programs_that_cannot_be_spread_are_told_why() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.c");
        fs::write(&source, "#include <stdio.h>\nint main(void) {\n#pragma omp parallel\nputs(\"a\");\n}\n")
            .unwrap();
        let built = |name: &str, options: &[&str]| {
            let program = folder.path().join(name);
            let status = Command::new("gcc").args(options).arg(&source).arg("-o").arg(&program).status();
            assert!(status.unwrap().success());
            OpenMp::check(&program, &Vec::new()).map_err(|error| error.to_string())
        };
        assert_eq!(built("good", &["-fopenmp"]), Ok(()));
        assert!(built("without", &[]).unwrap_err().ends_with("build it with gcc -fopenmp"));
        assert!(built("static", &["-fopenmp", "-static"]).unwrap_err().contains("linked statically"));
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let told = OpenMp::check(&script, &Vec::new()).unwrap_err().to_string();
        assert!(told.ends_with("name the OpenMP program itself, not a script"), "{told}");
    }
}
