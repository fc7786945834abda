//! Asks a Python interpreter which MPI its mpi4py uses.

use crate::{Environment, query::query};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long Python may take: importing from a cold network file system is slow.
const LIMIT: Duration = Duration::from_secs(60);

/// The script does not initialise MPI, which would start daemons. It prints the path of the library that is
/// mapped, which need not be the one that was asked for.
const SCRIPT: &str = r#"
import mpi4py
mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI
maps = {line.split(maxsplit=5)[5].rstrip() for line in open('/proc/self/maps') if '/libmpi' in line}
for path in sorted(maps):
    print('library', path)
print('version', MPI.Get_library_version().splitlines()[0])
for line in MPI.Get_library_version().splitlines()[1:]:
    print(line)
"#;

/// Whether a program's name is a Python interpreter's (`python`, `python3.11`, `pypy3`).
pub fn is_python(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let rest = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// Libraries called libmpi* that mpi4py has loaded, and the version text of the MPI that it uses. The error
/// says why there are none.
pub fn ask(python: &Path, env: &Environment) -> Result<(Vec<PathBuf>, String), String> {
    let argv = [python.as_os_str().into(), "-c".into(), SCRIPT.into()];
    let answer = query(&argv, env, LIMIT).map_err(|error| error.to_string())?;
    if !answer.is_success() {
        let reason = answer.stderr.lines().rfind(|line| !line.trim().is_empty());
        return Err(reason.unwrap_or("the interpreter gave no reason").to_owned());
    }
    parse(&answer.stdout).ok_or_else(|| format!("unexpected answer {:?}", answer.stdout))
}

fn parse(answer: &str) -> Option<(Vec<PathBuf>, String)> {
    let libraries =
        answer.lines().filter_map(|line| line.strip_prefix("library ")).map(PathBuf::from).collect();
    let version = answer.split_once("version ").map(|(_, text)| text.to_owned())?;
    Some((libraries, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_by_name() {
        for yes in ["/usr/bin/python3", "python", "/opt/v/bin/python3.11", "pypy3"] {
            assert!(is_python(Path::new(yes)), "{yes}");
        }
        for no in ["/usr/bin/pythonista", "python-config", "sh", "/opt/python3.11/bin/hello"] {
            assert!(!is_python(Path::new(no)), "{no}");
        }
    }

    #[test]
    fn an_interpreter_that_lacks_mpi4py_says_so() {
        let Some(python) = crate::program::find(OsStr::new("python3"), &std::env::vars_os().collect()) else {
            return eprintln!("skipped: no python3");
        };
        // This test cannot pass -I to Python, so it points the search path of modules at nothing instead.
        let env = vec![("PYTHONHOME".into(), "/nonexistent".into())];
        assert!(ask(&python, &env).is_err());
    }

    #[test]
    fn the_answer_is_taken_apart() {
        let (libraries, version) =
            parse("library /opt/lib/libmpi.so.12\nversion MPICH Version: 4.3.2\nMPICH Device: ch4:ofi\n")
                .unwrap();
        assert_eq!(libraries, [PathBuf::from("/opt/lib/libmpi.so.12")]);
        assert_eq!(version, "MPICH Version: 4.3.2\nMPICH Device: ch4:ofi\n");
    }
}
