//! Tasuki in more than one way in the same run: with a variable set, or as another build.

use super::BuiltStack;
use crate::BenchError;
use std::path::PathBuf;
use tasuki_launch::{Provider, Transport};

/// A variable for ranks; as text, `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value in the ranks.
    pub value: String,
}

impl std::str::FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains(' '));
        let (name, value) =
            parts.ok_or_else(|| format!("{text:?} is no NAME=VALUE, as TASUKI_RATE=window"))?;
        Ok(Self { name: name.into(), value: value.into() })
    }
}

/// The stacks, and behind each one over Tasuki its variants: one with each of these settings, and one with
/// the provider of each of these folders.
pub fn with_variants(
    stacks: Vec<BuiltStack>,
    settings: &[Setting],
    folders: &[PathBuf],
) -> Result<Vec<BuiltStack>, BenchError> {
    let program = std::env::current_exe()?;
    let found = folders.iter().map(|folder| Provider::find(&program, Some(folder)));
    let providers = found.collect::<Result<Vec<_>, _>>()?;
    let mut all = Vec::new();
    for stack in stacks {
        all.push(stack.clone());
        if !matches!(stack.transport, Transport::Tasuki(_)) {
            continue;
        }
        for Setting { name, value } in settings {
            let mut variant = stack.clone();
            variant.name = format!("{} {name}={value}", stack.name);
            variant.detected.env.push((name.into(), value.into()));
            all.push(variant);
        }
        for (provider, folder) in providers.iter().zip(folders) {
            let name = format!("{} of {}", stack.name, folder.display());
            let transport = Transport::Tasuki(provider.clone());
            all.push(BuiltStack { name, transport, ..stack.clone() });
        }
    }
    Ok(all)
}

/// The name of the stack that a variant is a variant of; `None`: this is the name of no variant.
pub(super) fn plain(stack: &str) -> Option<&str> {
    let end = stack.find(&format!(" {} ", Provider::NAME))? + 1 + Provider::NAME.len();
    stack.get(..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_a_name_and_variants_a_plain_stack() {
        let read = |text: &str| text.parse::<Setting>().map(|setting| (setting.name, setting.value));
        assert_eq!(read("TASUKI_RATE=static:9M/64K"), Ok(("TASUKI_RATE".into(), "static:9M/64K".into())));
        assert_eq!(read("A=B=C"), Ok(("A".into(), "B=C".into())));
        assert!(read("adaptive").is_err() && read("=1").is_err());
        assert_eq!(plain("mpich-4.3.2 tasuki TASUKI_RATE=adaptive"), Some("mpich-4.3.2 tasuki"));
        assert_eq!(plain("mpich-4.3.2 tasuki of /old/tasuki provider"), Some("mpich-4.3.2 tasuki"));
        assert_eq!([plain("mpich-4.3.2 tasuki"), plain("mpich-4.3.2")], [None; 2]);
    }
}
