//! The files of the workspace.

use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file, by its path from the root.
pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A file of the workspace.
pub struct File {
    /// Its path from the root.
    pub path: String,
    pub text: String,
}

/// All text files below a folder, with one of these endings; hidden folders and build outputs left out.
pub fn files(folder: &str, endings: &[&str]) -> Vec<File> {
    let mut found = Vec::new();
    collect(&root(), folder, endings, &mut found);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn collect(root: &Path, folder: &str, endings: &[&str], found: &mut Vec<File>) {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && name != "target" && !name.starts_with('.') {
            collect(root, &path, endings, found);
        } else if !is_folder
            && endings.iter().any(|ending| name.ends_with(ending))
            && let Ok(text) = std::fs::read_to_string(root.join(&path))
        {
            found.push(File { path, text });
        }
    }
}

/// Rust source of all crates, without their tests.
pub fn sources() -> Vec<File> {
    let mut all = files("crates", &[".rs"]);
    all.retain(|file| file.path.contains("/src/"));
    all
}

/// The part of a source file in front of its unit tests.
pub fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}
