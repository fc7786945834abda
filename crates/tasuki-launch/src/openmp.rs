//! OpenMP programs on several hosts: the library that takes the place of the compiler's, and the programs
//! that it serves.

use crate::{
    Environment,
    detect::DetectError,
    elf,
    front::is_plain,
    imports::{exports, imports},
    loader::shared_libraries,
    misfit::misfit,
    provider::Provider,
};
use std::{
    ffi::OsString,
    iter,
    path::{Path, PathBuf},
};

/// How the names of OpenMP libraries begin, of gcc, of LLVM and of Intel's compilers.
const GCC: &str = "libgomp.so.1";
const LLVM: &str = "libomp.so";
const INTEL: &str = "libiomp5.so";
/// How the names of functions begin that compilers put calls of into programs.
const OF_COMPILERS: [&str; 2] = ["GOMP_", "__kmpc_"];
/// Those that are as good in the compiler's own library: they know nothing of threads.
const ELSEWHERE: [&str; 6] =
    ["GOMP_alloc", "GOMP_free", "GOMP_offload_", "GOMP_target", "GOMP_error", "GOMP_warning"];
/// What the library has before the name of a function that it has only to say that it is missing.
const LACKS: &str = "tasuki_omp_lacks_";
/// The library, below the provider's folder.
const FILE: &str = "omp/libtasuki-omp.so";
/// Loads the library `$0` before a program, and behind it what the user has loaded before programs.
const SCRIPT: &str = r#"test -r "$0" || { echo "tasuki omp: $(uname -n) has no $0 that this user can read: \
install the same Tasuki on all hosts" >&2; exit 1; }
LD_PRELOAD=$0${LD_PRELOAD:+:$LD_PRELOAD} exec "$@""#;

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

    /// Finds out whether a program uses OpenMP, of gcc's or LLVM's library, is linked dynamically, without an
    /// MPI, and calls nothing that cannot work on several hosts. `unchecked`: it may call what it likes.
    ///
    /// # Errors
    /// If it is not: why, and what to do.
    pub fn check(&self, program: &Path, env: &Environment, unchecked: bool) -> Result<(), OpenMpError> {
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
        if ![GCC, LLVM, INTEL].into_iter().any(has) {
            return Err(unfit("it does not use OpenMP; build it with -fopenmp"));
        }
        if unchecked {
            return Ok(());
        }
        if let Some(why) = imports(program).iter().find_map(|name| misfit(name)) {
            return Err(unfit(why));
        }
        let ours = exports(&self.library);
        let is_here = |name: &String| ours.contains(name) && !ours.contains(&format!("{LACKS}{name}"));
        let theirs = libraries.iter().filter(|library| !begins(&library.name, &[GCC, LLVM, INTEL]));
        for file in iter::once(program).chain(theirs.map(|library| library.path.as_path())) {
            let mut calls = imports(file).into_iter();
            if let Some(missing) =
                calls.find(|name| begins(name, &OF_COMPILERS) && !begins(name, &ELSEWHERE) && !is_here(name))
            {
                let who = if file == program { "it".into() } else { file.display().to_string() };
                return Err(unfit(&format!("{who} calls {missing}, which is not there across hosts")));
            }
        }
        Ok(())
    }

    /// The command that runs a program with its arguments on a host. It ends with words where the library is
    /// not there: the loader would go on without it, and each process would run the whole program.
    pub fn command(&self, program: &[OsString]) -> Vec<OsString> {
        let shell: [OsString; 3] = ["/bin/sh".into(), "-c".into(), SCRIPT.into()];
        [&shell[..], &[self.library.clone().into_os_string()], program].concat()
    }

    /// Where the library lies.
    pub fn path(&self) -> &Path {
        &self.library
    }

    /// The variables of every process, as `NAME=VALUE`. `threads`: of each process; `profile`: a file for it,
    /// or `-` for what is said at the end alone.
    pub fn exports(&self, threads: u32, profile: Option<&Path>) -> Vec<String> {
        let mut exports = vec!["TASUKI_OMP=1".into(), format!("OMP_NUM_THREADS={threads}")];
        exports.extend(profile.map(|file| format!("TASUKI_OMP_PROFILE={}", file.display())));
        exports
    }
}

/// Whether a name begins like one of these.
fn begins(name: &str, with: &[&str]) -> bool {
    with.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, process::Command};

    /// A library with what small programs call.
    fn small_library(folder: &Path) -> OpenMp {
        let library = folder.join("small.so");
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-fPIC", "-x", "c", "-", "-o"])
            .arg(&library)
            .stdin(std::process::Stdio::piped());
        let mut child = gcc.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"void GOMP_parallel() {}\n").unwrap();
        assert!(child.wait().unwrap().success());
        OpenMp { library }
    }

    /// Programs of clang are told apart by what they call, here by hand.
    #[test]
    fn programs_of_llvm_are_good_if_all_that_they_call_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let built = |name: &str, text: &str, options: &[&str]| {
            let (source, file) = (folder.path().join("a.c"), folder.path().join(name));
            fs::write(&source, text).unwrap();
            let mut gcc = Command::new("gcc");
            gcc.arg(&source).arg("-o").arg(&file).arg("-L").arg(folder.path()).args(options);
            assert!(gcc.status().unwrap().success());
            file
        };
        let shared = ["-shared", "-fPIC", "-Wl,-soname,libomp.so.5"];
        built("libomp.so.5", "void __kmpc_fork_call() {}\nvoid __kmpc_other() {}", &shared);
        let library =
            OpenMp { library: built("ours.so", "void __kmpc_fork_call() {}", &["-shared", "-fPIC"]) };
        let program = |call: &str| {
            let text = format!("void {call}();\nint main() {{ {call}(); return 0; }}");
            built(call, &text, &["-l:libomp.so.5"])
        };
        let env = vec![("LD_LIBRARY_PATH".into(), folder.path().into())];
        assert_eq!(
            library.check(&program("__kmpc_fork_call"), &env, false).map_err(|e| e.to_string()),
            Ok(())
        );
        let told = library.check(&program("__kmpc_other"), &env, false).unwrap_err().to_string();
        assert!(
            told.ends_with("/__kmpc_other: it calls __kmpc_other, which is not there across hosts"),
            "{told}"
        );
        assert!(library.check(&program("__kmpc_other"), &env, true).is_ok(), "the user vouches");
    }

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
            let argv = library.command(&["/bin/echo".into(), "a b".into()]);
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

    /// See ld.so(8): colons or spaces separate libraries. The loader says that these files are none.
    #[test]
    fn what_the_user_loads_before_programs_is_loaded_behind_the_library() {
        let library = OpenMp { library: "/etc/passwd".into() };
        let argv = library.command(&["/usr/bin/env".into()]);
        for (users, expected) in [
            (None, "/etc/passwd"),
            (Some(""), "/etc/passwd"),
            (Some("/etc/group /etc/hosts"), "/etc/passwd:/etc/group /etc/hosts"),
        ] {
            let mut command = Command::new(&argv[0]);
            command.args(&argv[1..]).env_remove("LD_PRELOAD");
            command.envs(users.map(|users| ("LD_PRELOAD", users)));
            let told = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let list = told.lines().find_map(|line| line.strip_prefix("LD_PRELOAD="));
            assert_eq!(list, Some(expected), "{told}");
        }
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
            small_library(folder.path())
                .check(&program, &Vec::new(), false)
                .map_err(|error| error.to_string())
        };
        assert_eq!(built("good", &["-fopenmp"]), Ok(()));
        assert!(built("without", &[]).unwrap_err().ends_with("build it with -fopenmp"));
        assert!(built("static", &["-fopenmp", "-static"]).unwrap_err().contains("linked statically"));
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let told = small_library(folder.path()).check(&script, &Vec::new(), false).unwrap_err().to_string();
        assert!(told.ends_with("name the OpenMP program itself, not a script"), "{told}");
    }

    #[test]
    fn programs_that_call_what_cannot_work_are_refused_unless_the_user_vouches() {
        let folder = tempfile::tempdir().unwrap();
        let check = |compiler: &str, text: &str, unchecked: bool| {
            let (source, program) = (folder.path().join("a.cpp"), folder.path().join("a"));
            fs::write(&source, format!("{text}\n#pragma omp parallel\nf();\n}}\n")).unwrap();
            let mut built = Command::new(compiler);
            let language = if compiler == "g++" { "c++" } else { "c" };
            let status =
                built.args(["-fopenmp", "-x", language]).arg(&source).arg("-o").arg(&program).status();
            assert!(status.unwrap().success());
            small_library(folder.path())
                .check(&program, &Vec::new(), unchecked)
                .map_err(|error| error.to_string())
        };
        let threads = "#include <pthread.h>\nvoid *g(void *a) { return a; }\nvoid f(void) {}\n\
                       int main(void) {\npthread_t t; pthread_create(&t, 0, g, 0); pthread_join(t, 0);";
        assert!(check("gcc", threads, false).unwrap_err().contains("starts threads of its own"));
        assert_eq!(check("gcc", threads, true), Ok(()));
        let cpp = "#include <thread>\nvoid f() {}\nint main() {\nstd::thread(f).join();";
        assert!(check("g++", cpp, false).unwrap_err().contains("starts threads of its own"));
        let forks = "#include <unistd.h>\nvoid f(void) {}\nint main(void) {\nfork();";
        assert!(check("gcc", forks, false).unwrap_err().contains("calls fork"));
        let pointers = "#include <atomic>\n#include <memory>\nstd::shared_ptr<int> p;\n\
                        void f() { std::atomic_store(&p, std::make_shared<int>(1)); }\nint main() {";
        assert!(check("g++", pointers, false).unwrap_err().contains("shared pointers"));
        let starts = "#include <stdlib.h>\nvoid f(void) {}\nint main(void) {\nsystem(\"true\");";
        assert_eq!(check("gcc", starts, false), Ok(()));
    }
}
