//! Finds the file that a command's first word names, as `execvp` would.

use crate::Environment;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};
use tasuki_process::{is_executable, program_in};

/// The value of a variable of an environment.
pub fn variable<'a>(env: &'a Environment, name: &str) -> Option<&'a OsStr> {
    env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

/// `env` with `name` set to `value`.
pub fn with_variable(env: &Environment, name: &str, value: OsString) -> Environment {
    let mut env: Environment = env.iter().filter(|(key, _)| key != name).cloned().collect();
    env.push((name.into(), value));
    env
}

/// The folders of PATH that are absolute. A relative one would mean another folder on every host.
pub fn path_folders(env: &Environment) -> Vec<PathBuf> {
    let path = variable(env, "PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in std::env::split_paths(path) {
        if folder.is_absolute() && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The absolute path of the program that `name` runs: itself if it holds a slash, else the first executable
/// in PATH.
pub fn find(name: &OsStr, env: &Environment) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        let path = std::path::absolute(name).ok()?;
        return is_executable(&path).then_some(path);
    }
    if name.is_empty() {
        return None;
    }
    program_in(path_folders(env), name)
}

/// The program that `#!/usr/bin/env ARGUMENT` runs: the first word that is neither an option nor an
/// assignment.
pub fn env_target(argument: &str) -> Option<&str> {
    argument.split_whitespace().find(|word| !word.starts_with('-') && !word.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn path_is_searched_in_order_and_slashes_bypass_it() {
        let folder = tempfile::tempdir().unwrap();
        let env: Environment =
            vec![("PATH".into(), format!("relative:{}:/usr/bin:/bin", folder.path().display()).into())];
        assert_eq!(find(OsStr::new("sh"), &env).unwrap().file_name().unwrap(), "sh");
        let own = folder.path().join("sh");
        fs::write(&own, "x").unwrap();
        assert_ne!(find(OsStr::new("sh"), &env).unwrap(), own, "not executable: passed over, as execvp does");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find(OsStr::new("sh"), &env).unwrap(), own);
        assert_eq!(find(own.as_os_str(), &vec![]).unwrap(), own);
        assert_eq!(find(folder.path().as_os_str(), &env), None, "a folder is not a program");
        assert_eq!(find(OsStr::new(""), &env), None);
    }

    // env(1): options come first, then NAME=VALUE, then the command.
    #[test]
    fn env_passes_options_and_assignments_over() {
        assert_eq!(env_target("python3"), Some("python3"));
        assert_eq!(env_target("-S OMP_NUM_THREADS=1 python3 -u"), Some("python3"));
        assert_eq!(env_target("-i A=b"), None);
    }
}
