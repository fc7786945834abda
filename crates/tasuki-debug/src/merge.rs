//! Answers of several ranks that are the same.

use serde::Serialize;

/// What some ranks have answered alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// Which ranks, by their places in the list that was given.
    pub of: Vec<usize>,
    /// What they have said. Where it differs in addresses and numbers of processes alone, these are `..`.
    pub text: String,
}

/// Brings equal answers together, in the order of the first of each. With `but_for_addresses`, answers that
/// differ only in addresses or numbers of processes count as equal: every rank has its own.
pub fn merged<'a>(answers: impl IntoIterator<Item = &'a str>, but_for_addresses: bool) -> Vec<Merged> {
    let mut found: Vec<(String, Merged)> = Vec::new();
    for (at, text) in answers.into_iter().enumerate() {
        let key = if but_for_addresses { without_addresses(text) } else { text.to_owned() };
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, merged)) => {
                merged.of.push(at);
                if merged.text != text {
                    merged.text.clone_from(&key);
                }
            }
            None => found.push((key, Merged { of: vec![at], text: text.into() })),
        }
    }
    found.into_iter().map(|(_, merged)| merged).collect()
}

/// The text with `0x..` for addresses of five digits and more, and with `..` for numbers after `LWP` and
/// `process`.
fn without_addresses(text: &str) -> String {
    let mut words = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let starts = ["0x", "LWP ", "process "].into_iter().filter_map(|word| Some((rest.find(word)?, word)));
        let Some((at, word)) = starts.min() else { break };
        let (before, after) = rest.split_at(at + word.len());
        words += before;
        let is_digit = |c: char| if word == "0x" { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
        let end = after.find(|c| !is_digit(c)).unwrap_or(after.len());
        let is_long = end >= if word == "0x" { 5 } else { 1 };
        words += if is_long { ".." } else { &after[..end] };
        rest = &after[end..];
    }
    words + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(answers: &[&str], but_for_addresses: bool) -> Vec<(Vec<usize>, String)> {
        let all = merged(answers.iter().copied(), but_for_addresses);
        all.into_iter().map(|merged| (merged.of, merged.text)).collect()
    }

    #[test]
    fn equal_answers_are_one() {
        let found = texts(&["a", "b", "a"], false);
        assert_eq!(found, [(vec![0, 2], "a".into()), (vec![1], "b".into())]);
        assert!(texts(&[], true).is_empty());
    }

    #[test]
    fn addresses_differ_between_ranks_and_say_nothing_in_a_list_of_frames() {
        let frames = [
            "#0 0x00007fb0f6026503 in f (p=0x55d0 <x>, n=0x3)",
            "#0 0x00007f927675f503 in f (p=0x55d0 <x>, n=0x3)",
        ];
        assert_eq!(texts(&frames, false).len(), 2);
        assert_eq!(texts(&frames, true), [(vec![0, 1], "#0 0x.. in f (p=0x55d0 <x>, n=0x3)".into())]);
        assert_eq!(texts(&frames[..1], true)[0].1, frames[0], "what is alone is as it was");
        let threads = ["Thread 0x7f2ffe79b740 (LWP 2867) \"é\"", "Thread 0x7f2ffe79c740 (LWP 12) \"é\""];
        assert_eq!(texts(&threads, true)[0].1, "Thread 0x.. (LWP ..) \"é\"");
    }
}
