//! What a law finds, and how much of it is let pass.
//!
//! Every law holds without exception for what is new. What broke it on the day that it was made is counted in
//! `ratchets.toml`: these numbers may shrink and never grow.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Breaches of one law that are shown at most.
const SHOWN: usize = 30;

/// One place that breaks a law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub file: String,
    pub line: usize,
    /// What the law says and how it is broken here.
    pub what: String,
    /// What it is counted under in `ratchets.toml`: a crate, a function, a file.
    pub key: String,
    /// How much it counts there: 1, or the size of what is too large.
    pub weight: usize,
}

/// A law: its name in `ratchets.toml`, and what to do about a breach.
pub struct Law {
    pub name: &'static str,
    pub remedy: &'static str,
}

/// What is let pass, by key.
pub type Allowed = BTreeMap<String, usize>;

/// Weights by key.
pub fn totals(breaches: &[Breach]) -> Allowed {
    let mut totals = Allowed::new();
    for breach in breaches {
        *totals.entry(breach.key.clone()).or_default() += breach.weight;
    }
    totals
}

/// What is wrong with a tree that breaks `law` so, of which `allowed` is let pass. None if nothing is.
pub fn judge(law: &Law, breaches: &[Breach], allowed: &Allowed) -> Option<String> {
    let totals = totals(breaches);
    let mut text = String::new();
    for (key, &total) in &totals {
        let most = allowed.get(key).copied().unwrap_or(0);
        if total > most {
            let _ = writeln!(text, "law `{}`, {key}: {total}, and at most {most} is let pass", law.name);
            let of_it = breaches.iter().filter(|breach| breach.key == *key);
            for breach in of_it.clone().take(SHOWN) {
                let _ = writeln!(text, "  {}:{}: {}", breach.file, breach.line, breach.what);
            }
            if of_it.clone().count() > SHOWN {
                let _ = writeln!(text, "  ... and {} more", of_it.count() - SHOWN);
            }
            let _ = writeln!(text, "  To do: {}", law.remedy);
        }
    }
    for (key, &most) in allowed {
        let total = totals.get(key).copied().unwrap_or(0);
        if total < most {
            let _ = writeln!(text, "law `{}`, {key}: {total}, but ratchets.toml lets {most} pass", law.name);
            let _ = writeln!(
                text,
                "  To do: TASUKI_TIDY=lower cargo test -p tasuki-tidy, which lowers the number"
            );
        }
    }
    (!text.is_empty()).then_some(text)
}

/// What may still be let pass: never more than is today, and nothing of what is gone.
pub fn lowered(breaches: &[Breach], allowed: &Allowed) -> Allowed {
    let totals = totals(breaches);
    let lower =
        allowed.iter().map(|(key, &most)| (key.clone(), most.min(totals.get(key).copied().unwrap_or(0))));
    lower.filter(|&(_, most)| most > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law = Law { name: "example", remedy: "shorten it" };

    fn breach(key: &str, weight: usize) -> Breach {
        Breach { file: "a.rs".into(), line: 7, what: "too long".into(), key: key.into(), weight }
    }

    fn allowed(entries: &[(&str, usize)]) -> Allowed {
        entries.iter().map(|&(key, most)| (key.to_owned(), most)).collect()
    }

    #[test]
    fn what_is_new_is_named_with_its_place_and_remedy() {
        let text = judge(&LAW, &[breach("x", 1)], &allowed(&[])).expect("it is new");
        for part in ["example", "a.rs:7", "too long", "shorten it"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_was_there_before_passes_and_may_not_grow() {
        assert_eq!(judge(&LAW, &[breach("x", 80)], &allowed(&[("x", 80)])), None);
        assert!(judge(&LAW, &[breach("x", 81)], &allowed(&[("x", 80)])).is_some());
        assert!(judge(&LAW, &[breach("x", 1), breach("x", 1)], &allowed(&[("x", 1)])).is_some());
    }

    #[test]
    fn an_exception_that_is_no_longer_needed_is_to_go() {
        let text = judge(&LAW, &[breach("x", 70)], &allowed(&[("x", 80)])).expect("it shrank");
        assert!(text.contains("TASUKI_TIDY=lower"), "{text}");
        assert!(judge(&LAW, &[], &allowed(&[("x", 1)])).is_some());
        assert_eq!(lowered(&[breach("x", 70)], &allowed(&[("x", 80), ("y", 1)])), allowed(&[("x", 70)]));
        assert_eq!(
            lowered(&[breach("x", 90), breach("z", 1)], &allowed(&[("x", 80)])),
            allowed(&[("x", 80)])
        );
    }
}
