//! One-sided operations of Open MPI 5 over Tasuki (`docs/adr/0037-one-sided-operations-of-open-mpi-5.md`).
//!
//! Its `osc/rdma` moves bytes by the transports that it has below messages, of which `btl/ofi` is the one
//! over libfabric. That is a second endpoint in every process, so it is for programs that have windows.

use crate::{
    Job, Mpi, Setting, Transport,
    elf::{self, Kind},
    imports::imports,
    libfabric, program,
    python::is_python,
    setting::Scope,
};
use std::{fs, path::Path};

/// The settings of these operations, if the job's program has any and its MPI can send them over Tasuki.
pub(crate) fn settings(mpi: &Mpi, job: &Job) -> Option<[Setting; 2]> {
    let over_tasuki = matches!(job.transport, Transport::Tasuki(_)) && has_component(&mpi.library);
    // One of the words is the program; it may be behind a wrapper, as `env` or `numactl`.
    if !over_tasuki || !job.argv.iter().any(|word| may_have_windows(Path::new(word))) {
        return None;
    }
    let set = |name, value, why| Setting::new(Scope::OpenMpi, name, value, why);
    Some([
        set("btl", "ofi,self", "this program has one-sided operations: by libfabric too, over all cables"),
        set("btl_ofi_mode", "0", "no messages that way, so nothing waits there for any"),
    ])
}

/// Whether an Open MPI has `btl/ofi`: in a file beside that of `mtl/ofi` (Debian), or in the library of its
/// lower layers (wheels).
fn has_component(library: &Path) -> bool {
    const SYMBOL: &[u8] = b"mca_btl_ofi_component";
    if let Some(component) = libfabric::component(library) {
        return component.with_file_name("mca_btl_ofi.so").exists();
    }
    let entries = library.parent().and_then(|folder| folder.read_dir().ok());
    let mut libraries =
        entries.into_iter().flatten().flatten().filter(|entry| {
            entry.file_name().to_str().is_some_and(|name| name.starts_with("libopen-pal.so"))
        });
    libraries.any(|entry| fs::read(entry.path()).is_ok_and(|bytes| libfabric::holds(&bytes, SYMBOL)))
}

/// Whether a file is a program that calls functions of windows, or runs in Python, whose mpi4py has them.
fn may_have_windows(file: &Path) -> bool {
    match elf::kind(file) {
        Ok(Kind::Dynamic { .. }) => is_python(file) || has_windows(file),
        Ok(Kind::Script { interpreter, argument }) => {
            let target = argument.as_deref().and_then(program::env_target);
            is_python(&interpreter) || target.is_some_and(|name| is_python(Path::new(name)))
        }
        _ => false,
    }
}

/// Whether a program calls functions of windows: `MPI_Win_create`, `mpi_win_create_`, `PMPI_Win_create` and
/// so on.
fn has_windows(file: &Path) -> bool {
    imports(file).iter().any(|name| {
        let name = name.to_ascii_lowercase();
        name.strip_prefix('p').unwrap_or(&name).starts_with("mpi_win_")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Whether a program in C that calls this function of a library is one.
    fn is_found_in(folder: &Path, function: &str) -> bool {
        let compile = |text: String, arguments: &[&str]| {
            fs::write(folder.join("a.c"), text).unwrap();
            let mut compiler = Command::new("cc");
            let status = compiler.current_dir(folder).arg("a.c").args(arguments).status();
            assert!(status.expect("cc runs: see scripts/setup").success());
        };
        compile(format!("int {function}(void) {{ return 0; }}"), &["-shared", "-fPIC", "-o", "lib.so"]);
        let text = format!("int {function}(void); int main(void) {{ return {function}(); }}");
        compile(text, &["./lib.so", "-o", "program"]);
        may_have_windows(&folder.join("program"))
    }

    #[test]
    fn programs_with_windows_are_known_by_the_functions_that_they_call() {
        let folder = tempfile::tempdir().unwrap();
        for function in ["MPI_Win_create", "PMPI_Win_allocate", "mpi_win_allocate_", "mpi_win_create_f08_"] {
            assert!(is_found_in(folder.path(), function), "{function}");
        }
        for function in ["MPI_Send", "mpi_wtime_", "swim_win_"] {
            assert!(!is_found_in(folder.path(), function), "{function}");
        }
        let script = folder.path().join("script");
        let lines = [("/usr/bin/python3", true), ("/usr/bin/env -S python3 -u", true), ("/bin/sh", false)];
        for (line, has) in lines {
            fs::write(&script, format!("#!{line}\n")).unwrap();
            assert_eq!(may_have_windows(&script), has, "{line}");
        }
        for nothing in [Path::new("/nowhere"), folder.path(), &folder.path().join("a.c")] {
            assert!(!may_have_windows(nothing), "{nothing:?}");
        }
    }
}
