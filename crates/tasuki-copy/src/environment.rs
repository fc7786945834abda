//! Where ranks find what was sent.

use crate::Copied;
use std::{
    ffi::{OsStr, OsString},
    path::Path,
};
use tasuki_launch::Environment;

/// The variable that lists folders for the dynamic loader.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

impl Copied {
    /// Has libraries that hosts lacked found before any others.
    pub fn add_to(&self, env: &mut Environment) {
        if let Some(folder) = &self.libraries {
            put_first(folder, env);
        }
    }

    /// The list of folders for the dynamic loader as a variable for ranks, `NAME=VALUE`, of which `given` is
    /// what the user has; none if hosts lacked no library.
    pub fn export(&self, given: Option<&OsStr>) -> Option<String> {
        let mut env: Environment =
            given.map(|list| (LIBRARY_PATH.into(), list.to_owned())).into_iter().collect();
        put_first(self.libraries.as_ref()?, &mut env);
        env.first().map(|(name, list)| format!("{}={}", name.display(), list.display()))
    }
}

fn put_first(folder: &Path, env: &mut Environment) {
    let mut list = OsString::from(folder);
    match env.iter_mut().find(|(name, _)| name == LIBRARY_PATH) {
        Some((_, given)) => {
            list.push(":");
            list.push(&*given);
            *given = list;
        }
        None => env.push((LIBRARY_PATH.into(), list)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_found_first() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut env = vec![pair("A", "b")];
        put_first(Path::new("/x/lib"), &mut env);
        assert_eq!(env, [pair("A", "b"), pair(LIBRARY_PATH, "/x/lib")]);
        put_first(Path::new("/y"), &mut env);
        assert_eq!(env, [pair("A", "b"), pair(LIBRARY_PATH, "/y:/x/lib")]);
    }
}
