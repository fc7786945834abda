//! The MPIs and transports that long tests use, and the programs that are built for them.

use super::{
    mpis::{Mpi, mpis},
    ok,
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Open MPI 4.1 and 5, MPICH 4.3 and 5. TASUKI_TEST_MPI=mpich-5.0,openmpi-4.1 selects some of them.
pub fn families(test: &str) -> Vec<Mpi> {
    let wanted = chosen("TASUKI_TEST_MPI");
    let is_wanted = |mpi: &Mpi| match &wanted {
        Some(argv) => argv.iter().any(|word| word == mpi.name),
        None => mpi.name != "intel",
    };
    mpis(test).into_iter().filter(is_wanted).collect()
}

/// The transports: `tasuki`, unless TASUKI_TEST_TRANSPORT=tcp,tasuki names others.
pub fn transports() -> Vec<String> {
    chosen("TASUKI_TEST_TRANSPORT").unwrap_or_else(|| vec!["tasuki".into()])
}

fn chosen(variable: &str) -> Option<Vec<String>> {
    let argv = std::env::var(variable).ok()?;
    Some(argv.split(',').map(str::to_owned).collect())
}

/// Compiles an example of the C interface, with its static library.
pub fn c_example(compiler: &Path, name: &str, target: &Path) {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-capi");
    let test = std::env::current_exe().expect("the path of this test");
    let library = test.parent().expect("a folder").join("libtasuki.a");
    let mut cc = Command::new(compiler);
    cc.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(capi.join("include"));
    cc.arg(capi.join("examples").join(format!("{name}.c"))).arg("-o").arg(target).arg(library);
    ok(cc.args(["-ldl", "-lm", "-lrt"]));
}

/// Builds an example of the C interface in Fortran, and the module that it uses.
pub fn fortran_example(compiler: &Path, name: &str, target: &Path) {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-capi");
    let test = std::env::current_exe().expect("the path of this test");
    let library = test.parent().expect("a folder").join("libtasuki.a");
    let modules = tempfile::tempdir().expect("a folder");
    let mut compile = Command::new(compiler);
    compile.args(["-std=f2018", "-O2", "-Wall", "-Wextra", "-Werror", "-J"]).arg(modules.path());
    compile.arg(capi.join("include/tasuki_checkpoint.f90")).arg(capi.join(format!("examples/{name}.f90")));
    compile.arg("-o").arg(target).arg(library);
    ok(compile.args(["-lpthread", "-ldl", "-lm", "-lrt"]));
}

/// Programs of the tests, each built for an MPI when it is first needed.
pub struct Programs(tempfile::TempDir);

impl Programs {
    /// An empty folder for them.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// Builds `tests/programs/NAME.c`.
    pub fn build(&self, name: &str, mpi: &Mpi) -> PathBuf {
        let target = self.0.path().join(format!("{name}-{}", mpi.name));
        if !target.exists() {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
            let mut compiler = Command::new(&mpi.mpicc);
            compiler
                .args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-o"])
                .arg(&target)
                .arg(source)
                .arg("-lpthread");
            ok(&mut compiler);
        }
        target
    }
}
