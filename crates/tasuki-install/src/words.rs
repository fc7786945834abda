//! What a host's script says: lines `KEY=VALUE`.

use tasuki_fleet::{Answer, HostError};

/// What a host's script has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<(String, String)>);

impl Words {
    /// What a host's script has said.
    ///
    /// # Errors
    /// If the host was not reached, or the script says that it failed.
    pub fn of(answer: Answer) -> Result<Self, HostError> {
        let host = answer.label().to_owned();
        let words = Self::parse(&answer.text()?);
        match words.get("error") {
            Some(why) => Err(HostError { host, why, remedy: words.get("remedy") }),
            None => Ok(words),
        }
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        Self(lines.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect())
    }

    /// The value of a key; `None`: the script has not said it, or said that there is none.
    pub fn get(&self, key: &str) -> Option<String> {
        let found = self.0.iter().find(|(own, _)| own == key);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_values_and_other_lines_count_as_nothing() {
        let words = Words::parse("Last login: today\nversion=0.1.0 (abc)\nfound=\npath=/a=b\n");
        assert_eq!(words.get("version").as_deref(), Some("0.1.0 (abc)"));
        assert_eq!(words.get("path").as_deref(), Some("/a=b"));
        assert_eq!((words.get("found"), words.get("arch")), (None, None));
    }
}
