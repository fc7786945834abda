//! What a crate's `Cargo.toml` says about dependencies and features.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::tree::Tree;

pub struct Manifest(Table);

/// The manifest of a crate, if it has one that can be read.
pub fn of(tree: &Tree, name: &str) -> Option<Manifest> {
    Manifest::parse(tree.text(&format!("crates/{name}/Cargo.toml"))?)
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(|value| Some(value.as_str()?.to_owned())).collect()
}

impl Manifest {
    pub fn parse(text: &str) -> Option<Manifest> {
        text.parse().ok().map(Manifest)
    }

    /// Normal and build dependencies, those of a platform too: name and what is said about it.
    fn dependencies(&self) -> Vec<(&str, &Value)> {
        let targets = self.0.get("target").and_then(Value::as_table);
        let tables = targets.into_iter().flat_map(|targets| targets.values().filter_map(Value::as_table));
        let tables = tables.chain([&self.0]).flat_map(|table| {
            ["dependencies", "build-dependencies"].map(|kind| table.get(kind).and_then(Value::as_table))
        });
        tables.flatten().flatten().map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// Crates of this repository that it uses when it is built.
    pub fn internal(&self) -> BTreeSet<String> {
        let names = self.dependencies().into_iter().map(|(name, _)| name);
        names.filter(|name| name.starts_with("tasuki-")).map(str::to_owned).collect()
    }

    /// Features that normal and build dependencies, or the workspace's entries, switch on:
    /// `dependency/feature`.
    pub fn switched_on(&self) -> Vec<String> {
        let shared = self.0.get("workspace").and_then(|workspace| workspace.get("dependencies"));
        let shared = shared.and_then(Value::as_table).into_iter().flatten();
        let all = shared.map(|(name, value)| (name.as_str(), value)).chain(self.dependencies());
        let features = |(name, value): (&str, &Value)| {
            let features = strings(value.get("features"));
            features.into_iter().map(|feature| format!("{name}/{feature}")).collect::<Vec<_>>()
        };
        all.flat_map(features).collect()
    }

    /// What is on by default: features of this crate, and `dependency/feature` of others.
    pub fn defaults(&self) -> BTreeSet<String> {
        let features = self.0.get("features");
        let mut on = BTreeSet::new();
        let mut open = vec!["default".to_owned()];
        while let Some(feature) = open.pop() {
            let follows = strings(features.and_then(|features| features.get(&feature)));
            open.extend(follows.into_iter().filter(|next| on.insert(next.clone())));
        }
        on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_all_kinds_but_of_tests_count() {
        let manifest = Manifest::parse(
            "[dependencies]\ntasuki-a = { workspace = true, features = [\"x\"] }\nlibc = \"1\"\n\
             [build-dependencies]\ntasuki-b.workspace = true\n[dev-dependencies]\ntasuki-c.workspace = true\n\
             [target.'cfg(unix)'.dependencies]\ntasuki-d.workspace = true\n",
        )
        .expect("it is TOML");
        assert_eq!(manifest.internal(), ["tasuki-a", "tasuki-b", "tasuki-d"].map(str::to_owned).into());
        assert_eq!(manifest.switched_on(), ["tasuki-a/x"]);
    }

    #[test]
    fn defaults_are_followed() {
        let text = "[features]\ndefault = [\"a\"]\na = [\"b\", \"other/c\"]\nb = [\"a\"]\nd = []\n";
        let defaults = Manifest::parse(text).expect("it is TOML").defaults();
        assert_eq!(defaults, ["a", "b", "other/c"].map(str::to_owned).into());
    }
}
