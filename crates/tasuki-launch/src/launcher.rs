//! Finds the launcher that belongs to a library.

use crate::{Environment, Flavour, Version, program, query::query};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const LIMIT: Duration = Duration::from_secs(10);
/// How many folders above a library its prefix may be. Debian's `lib/x86_64-linux-gnu/openmpi/lib/` is the
/// deepest.
const PREFIX_DEPTH_MAX: usize = 5;

/// What the launcher at `path` says that it is; `None` if this crate does not know it.
pub fn identify(path: &Path, env: &Environment) -> Option<(Flavour, Version)> {
    let answer = query(&[path.as_os_str().into(), "--version".into()], env, LIMIT).ok()?;
    Flavour::recognise(&answer.stdout).or_else(|| Flavour::recognise(&answer.stderr))
}

/// The launcher for a library: in the library's own prefix, or in PATH; among those of the same flavour one
/// of the same version, if there is one. `Err`: the folders that were searched.
pub fn for_library(
    library: &Path,
    flavour: Flavour,
    version: &Version,
    env: &Environment,
) -> Result<PathBuf, Vec<PathBuf>> {
    let folders = folders(library, env);
    let mut second_best = None;
    for folder in &folders {
        for path in flavour.launchers().iter().map(|name| folder.join(name)) {
            if !tasuki_process::is_executable(&path) {
                continue;
            }
            match identify(&path, env) {
                Some((found, at)) if found == flavour && at == *version => return Ok(path),
                Some((found, _)) if found == flavour => second_best = second_best.or(Some(path)),
                _ => {}
            }
        }
    }
    second_best.ok_or(folders)
}

fn folders(library: &Path, env: &Environment) -> Vec<PathBuf> {
    let canonical = fs::canonicalize(library).ok();
    let prefixes = [Some(library.to_owned()), canonical].into_iter().flatten().flat_map(|library| {
        let above: Vec<_> =
            library.ancestors().skip(2).take(PREFIX_DEPTH_MAX).map(|p| p.join("bin")).collect();
        above
    });
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in prefixes.chain(program::path_folders(env)) {
        // /bin is a link to /usr/bin, and Open MPI refuses the prefix `/`.
        let folder = if folder == Path::new("/bin") { PathBuf::from("/usr/bin") } else { folder };
        if folder.is_dir() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}
