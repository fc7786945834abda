//! `ratchets.toml`: what is let pass of each law.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::breach::{Allowed, Breach, Law, lowered};

/// Laws are checked by several threads at once, and each may lower its numbers.
static FILE: Mutex<()> = Mutex::new(());

const HEAD: &str = "\
# What broke a law on the day that the law was made. Numbers shrink and never grow; an entry that is not
# needed any more goes. `TASUKI_TIDY=lower cargo test -p tasuki-tidy` lowers them; nothing raises one.
";

/// By law, what is let pass by key.
pub struct Ratchets(std::collections::BTreeMap<String, Allowed>);

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ratchets.toml")
}

impl Ratchets {
    pub fn load() -> Ratchets {
        let _one = FILE.lock().expect("no thread panics with it");
        Ratchets::read()
    }

    fn read() -> Ratchets {
        let text = std::fs::read_to_string(path()).expect("crates/tasuki-tidy/ratchets.toml can be read");
        Ratchets::parse(&text)
    }

    fn parse(text: &str) -> Ratchets {
        let table: toml::Table = text.parse().expect("ratchets.toml is TOML");
        let laws = table.into_iter().map(|(law, entries)| {
            let entries = entries.as_table().cloned().unwrap_or_default().into_iter();
            let numbers =
                entries.filter_map(|(key, value)| Some((key, usize::try_from(value.as_integer()?).ok()?)));
            (law, numbers.collect())
        });
        Ratchets(laws.collect())
    }

    pub fn of(&self, law: &Law) -> Allowed {
        self.0.get(law.name).cloned().unwrap_or_default()
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Writes the file anew with no more of `law` than there is.
    pub fn lower(law: &Law, breaches: &[Breach]) {
        let _one = FILE.lock().expect("no thread panics with it");
        let mut ratchets = Ratchets::read();
        let less = lowered(breaches, &ratchets.of(law));
        ratchets.0.insert(law.name.to_owned(), less);
        std::fs::write(path(), ratchets.text()).expect("ratchets.toml can be written");
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (law, entries) in self.0.iter().filter(|(_, entries)| !entries.is_empty()) {
            let _ = writeln!(text, "\n[{law}]");
            for (key, most) in entries {
                let _ = writeln!(text, "{key:?} = {most}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let text = format!("{HEAD}\n[sizes]\n\"tasuki-a A::b\" = 80\n\"x y\" = 1\n\n[width]\n\"docs\" = 2\n");
        assert_eq!(Ratchets::parse(&text).text(), text);
    }
}
