//! Compiling C programs against the header and the library that cargo built for these tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// How a program is compiled and linked.
#[derive(Clone, Copy, Debug)]
pub enum Language {
    C,
    Cpp,
    /// As C, with the static library.
    Static,
}

/// A compiled program, in a folder of its own.
pub struct Program {
    pub path: PathBuf,
    _folder: TempDir,
}

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with `libtasuki.so`: cargo puts libraries that a test depends on beside the test.
pub fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.parent().expect("a folder").to_owned();
    assert!(folder.join("libtasuki.so").exists(), "no libtasuki.so in {}", folder.display());
    folder
}

/// Compiles a program of this crate, named by its path in the crate's folder; warnings are errors.
pub fn build(source: &str, language: Language) -> Program {
    let folder = tempfile::tempdir().expect("a folder for the program");
    let path = folder.path().join("program");
    let library = library_folder();
    let mut command = match language {
        Language::C | Language::Static => Command::new("cc"),
        Language::Cpp => Command::new("c++"),
    };
    match language {
        Language::C | Language::Static => command.arg("-std=c11"),
        Language::Cpp => command.args(["-std=c++17", "-x", "c++"]),
    };
    command.args(["-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread", "-I"]);
    command.arg(crate_folder().join("include")).arg(crate_folder().join(source));
    if let Language::Cpp = language {
        command.args(["-x", "none"]);
    }
    command.arg("-o").arg(&path);
    match language {
        Language::Static => command.arg(library.join("libtasuki.a")).args(["-ldl", "-lm", "-lrt"]),
        _ => command.arg("-L").arg(&library).arg("-ltasuki").arg(format!("-Wl,-rpath,{}", library.display())),
    };
    let output = command.output().expect("the compiler runs");
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    Program { path, _folder: folder }
}
