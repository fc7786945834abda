//! The repository as the laws see it: paths and texts. Laws take a `Tree` and so can be tried on one that is
//! made up.

use std::collections::BTreeMap;
use std::path::Path;

use crate::lexer::{Lexed, lex};

/// Folders that are looked at, beside the files of the repository's root.
const FOLDERS: [&str; 6] = ["bench", "crates", "docs", "examples", "packaging", "scripts"];

/// Text files by their path from the repository's root, with `/` between folders.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the repository at `root`. What is not UTF-8 is no text and left out.
    pub fn load(root: &Path) -> Tree {
        let mut tree = Tree::default();
        for folder in FOLDERS {
            tree.load_folder(root, folder);
        }
        tree.load_files(root, "");
        tree
    }

    fn load_folder(&mut self, root: &Path, folder: &str) {
        self.load_files(root, folder);
        for name in names(&root.join(folder), true) {
            if name != "target" && !name.starts_with('.') {
                self.load_folder(root, &format!("{folder}/{name}"));
            }
        }
    }

    fn load_files(&mut self, root: &Path, folder: &str) {
        for name in names(&root.join(folder), false) {
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
                self.files.insert(path, text);
            }
        }
    }

    /// A tree of these files alone.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect() }
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether `path` is a file or a folder.
    pub fn holds(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Files whose names end in a dot and `extension`.
    pub fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| extension_of(path) == extension)
    }

    /// Rust files, split into tokens.
    pub fn rust(&self) -> impl Iterator<Item = (&str, Lexed)> {
        self.with_extension("rs").map(|(path, text)| (path, lex(text)))
    }

    /// Crates' names, each once: a crate is a folder of `crates` with a manifest.
    pub fn crates(&self) -> impl Iterator<Item = &str> {
        self.files.keys().filter_map(|path| path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"))
    }
}

fn names(folder: &Path, folders: bool) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of_kind = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir() == folders));
    of_kind.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// What follows the last dot of a file's name; empty without one.
pub fn extension_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// What a file belongs to, for counting: its crate, or its first folder, or itself in the root.
pub fn part_of(path: &str) -> &str {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("crates"), Some(name), Some(_)) => name,
        (Some(first), _, _) => first,
        _ => path,
    }
}
