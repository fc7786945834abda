//! What must be changed. Pure, so that every rule can be tested without a host.

use crate::{
    Change, Key, Value,
    names::{HOSTS_FILE, without_names},
};
use std::{collections::BTreeMap, path::Path};

/// The values of keys as they are.
pub type Actual = BTreeMap<Key, Value>;

/// The changes that lead from `actual` to `desired`, in the order in which they are to be made.
///
/// `made` are the changes of earlier calls, oldest first, each with the value from before the first of them.
/// A key that they set and that `desired` no longer contains goes back to that value first, newest first.
pub fn difference(desired: &[(Key, Value)], actual: &Actual, made: &[Change]) -> Vec<Change> {
    let value = |key: &Key| actual.get(key).cloned().unwrap_or(Value::Absent);
    let still_wanted = |key: &Key| desired.iter().any(|(wanted, _)| wanted == key);
    let stale = made.iter().rev().filter(|change| !still_wanted(&change.key));
    let back = stale.map(|change| (change.key.clone(), change.from.clone()));
    // A setting of an interface that is gone went with it.
    let back = back.filter(|(key, _)| key.interface().is_none() || value(key) != Value::Absent);
    let wanted = back.chain(desired.iter().cloned());
    let changes = wanted.map(|(key, to)| {
        let from = value(&key);
        Change { key, from, to }
    });
    changes.filter(|change| change.from != change.to).collect()
}

/// The changes that take back `made`, newest first. A key that has its old value already is left out.
pub fn reverse(made: &[Change], actual: &Actual) -> Vec<Change> {
    difference(&[], actual, made)
}

/// Removes from `desired` what would turn off forwarding that is on already, because containers and virtual
/// machines of the host may need it. Returns notes on what was left on. Forwarding that an earlier call
/// turned on, as `made` says, is not spared.
pub fn spare_forwarding(desired: &mut Vec<(Key, Value)>, actual: &Actual, made: &[Change]) -> Vec<String> {
    let is_on = Value::Text("1".into());
    let is_theirs = |key: &Key, to: &Value| {
        let Key::Sysctl { path } = key else { return false };
        let before = made.iter().find(|change| change.key == *key).map(|change| &change.from);
        path.ends_with("/forwarding")
            && *to == Value::Text("0".into())
            && before.or(actual.get(key)) == Some(&is_on)
    };
    let mut notes = Vec::new();
    desired.retain(|(key, to)| {
        let spared = is_theirs(key, to);
        if spared {
            let interface = key.interface().unwrap_or_default();
            notes.push(format!(
                "forwarding is on for {interface} although the plan does not need it; left on, because \
                 containers or virtual machines may (--stop-forwarding turns it off)"
            ));
        }
        !spared
    });
    notes
}

/// Removes from `changes` what another program has changed since: a route that is no longer Tasuki's stays,
/// and of a file of names that was edited only Tasuki's block is removed. Returns notes on what was left.
pub fn keep_edits(changes: &mut Vec<Change>, made: &[Change]) -> Vec<String> {
    let mut notes = Vec::new();
    changes.retain_mut(|change| {
        let Some(before) = made.iter().find(|known| known.key == change.key) else { return true };
        if change.to != before.from {
            return true;
        }
        match (&change.key, &change.from) {
            (key @ Key::Route { .. }, Value::OtherRoute { .. }) if change.from != before.to => {
                notes.push(format!("{key}: somebody else has set it since; left alone"));
                false
            }
            // A later `apply` takes lines of others over into what it writes, so that a file which is as it
            // was written last may have such lines all the same.
            (Key::File { path }, Value::Text(text))
                if path == Path::new(HOSTS_FILE) && has_other_lines(text, &before.from) =>
            {
                notes.push(format!("{HOSTS_FILE} was edited since; only the cluster's names are taken out"));
                change.to = Value::Text(without_names(text));
                change.from != change.to
            }
            _ => true,
        }
    });
    notes
}

/// Whether a file of names differs from what it was before by more than the cluster's names.
fn has_other_lines(text: &str, before: &Value) -> bool {
    let before = match before {
        Value::Text(before) => without_names(before),
        _ => String::new(),
    };
    let now = without_names(text);
    // The names begin a line of their own, for which the last line before them was ended.
    let is_ended = !before.is_empty() && now.strip_suffix('\n') == Some(&before);
    now != before && !is_ended
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctl(path: &str) -> Key {
        Key::Sysctl { path: path.into() }
    }

    fn text(value: &str) -> Value {
        Value::Text(value.into())
    }

    fn change(key: &Key, from: &Value, to: &Value) -> Change {
        Change { key: key.clone(), from: from.clone(), to: to.clone() }
    }

    #[test]
    fn only_what_differs_is_changed_in_the_order_given() {
        let (a, b, c) = (sysctl("a"), sysctl("b"), sysctl("c"));
        let desired = [(c.clone(), text("3")), (a.clone(), text("1")), (b.clone(), text("2"))];
        let actual = Actual::from([(a.clone(), text("0")), (b, text("2"))]);
        let expected = [change(&c, &Value::Absent, &text("3")), change(&a, &text("0"), &text("1"))];
        assert_eq!(difference(&desired, &actual, &[]), expected);
    }

    #[test]
    fn nothing_is_left_to_do_once_it_is_done() {
        let desired = [(sysctl("a"), text("1")), (sysctl("b"), text("2"))];
        let actual: Actual = desired.iter().cloned().collect();
        assert_eq!(difference(&desired, &actual, &[]), []);
    }

    #[test]
    fn what_is_no_longer_wanted_goes_back_first_and_newest_first() {
        let (a, b, c) = (sysctl("a"), sysctl("b"), sysctl("c"));
        let made = [
            change(&a, &text("old a"), &text("1")),
            change(&b, &text("old b"), &text("2")),
            change(&c, &text("old c"), &text("3")),
        ];
        let actual = Actual::from([(a.clone(), text("1")), (b.clone(), text("2")), (c.clone(), text("3"))]);
        let changes = difference(&[(b.clone(), text("9"))], &actual, &made);
        let expected = [
            change(&c, &text("3"), &text("old c")),
            change(&a, &text("1"), &text("old a")),
            change(&b, &text("2"), &text("9")),
        ];
        assert_eq!(changes, expected);
        // Everything is taken back from a state in which only a part had been done.
        let half = Actual::from([(a.clone(), text("1")), (b, text("old b")), (c, text("old c"))]);
        assert_eq!(reverse(&made, &half), [change(&a, &text("1"), &text("old a"))]);
    }

    #[test]
    fn settings_of_an_interface_that_is_gone_are_not_put_back() {
        let mtu = Key::Mtu { interface: "eth9".into() };
        let made = [change(&mtu, &Value::Number(1500), &Value::Number(9000))];
        assert_eq!(reverse(&made, &Actual::new()), []);
    }

    #[test]
    fn forwarding_of_others_is_spared_and_ours_is_not() {
        let ours = sysctl("net/ipv4/conf/eth1/forwarding");
        let theirs = sysctl("net/ipv4/conf/eth2/forwarding");
        let off = sysctl("net/ipv4/conf/eth3/forwarding");
        let all = [&ours, &theirs, &off].map(|key| (key.clone(), text("0")));
        let actual =
            Actual::from([(ours.clone(), text("1")), (theirs.clone(), text("1")), (off.clone(), text("0"))]);
        let made = [change(&ours, &text("0"), &text("1"))];
        let mut desired = all.to_vec();
        let notes = spare_forwarding(&mut desired, &actual, &made);
        assert_eq!(desired.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&ours, &off]);
        assert!(notes.len() == 1 && notes[0].contains("eth2"), "{notes:?}");
    }

    #[test]
    fn what_others_changed_since_is_left() {
        let route = Key::Route { destination: "10.77.0.2".parse().unwrap() };
        let other = |message: &str| Value::OtherRoute { message: message.into() };
        let made = [change(&route, &Value::Absent, &Value::Present)];
        let mut changes = reverse(&made, &Actual::from([(route.clone(), other("00"))]));
        let notes = keep_edits(&mut changes, &made);
        assert!(changes.is_empty() && notes.len() == 1, "{changes:?} {notes:?}");
        // A route that was there before Tasuki's comes back.
        let made = [change(&route, &other("01"), &Value::Present)];
        let mut changes = reverse(&made, &Actual::from([(route.clone(), Value::Present)]));
        assert_eq!(keep_edits(&mut changes, &made), Vec::<String>::new());
        assert_eq!(changes, [change(&route, &Value::Present, &other("01"))]);

        let hosts = Key::File { path: HOSTS_FILE.into() };
        let names = [("10.77.0.1".parse().unwrap(), "n1".to_owned())];
        let ours = crate::names::with_names("a\n", &names);
        let made = [change(&hosts, &text("a\n"), &text(&ours))];
        let edited = text(&(ours + "b\n"));
        let mut changes = reverse(&made, &Actual::from([(hosts.clone(), edited.clone())]));
        assert_eq!(keep_edits(&mut changes, &made).len(), 1);
        assert_eq!(changes, [change(&hosts, &edited, &text("a\nb\n"))]);
    }

    /// What `undo` makes of a file of names that the last `apply` has left as `last`, with the number of
    /// notes; `before` is what the first one found.
    fn undone(before: &Value, last: &str) -> (Option<Value>, usize) {
        let hosts = Key::File { path: HOSTS_FILE.into() };
        let made = [change(&hosts, before, &text(last))];
        let mut changes = reverse(&made, &Actual::from([(hosts, text(last))]));
        let notes = keep_edits(&mut changes, &made).len();
        (changes.pop().map(|change| change.to), notes)
    }

    #[test]
    fn lines_that_a_second_apply_found_in_the_file_of_names_stay() {
        let names = [("10.77.0.1".parse().unwrap(), "n1".to_owned())];
        let with = |text: &str| crate::names::with_names(text, &names);
        for start in ["127.0.0.1 localhost\n", "127.0.0.1 localhost", ""] {
            let edited = with(start) + "192.0.2.1 printer\n";
            let (left, notes) = undone(&text(start), &with(&edited));
            let ended = if start.is_empty() { "" } else { "127.0.0.1 localhost\n" };
            assert_eq!((left, notes), (Some(text(&format!("{ended}192.0.2.1 printer\n"))), 1), "{start:?}");
        }
        // A file that Tasuki has made goes, unless somebody has written into it since.
        assert_eq!(undone(&Value::Absent, &with("")), (Some(Value::Absent), 0));
        let edited = with("") + "192.0.2.1 printer\n";
        assert_eq!(undone(&Value::Absent, &with(&edited)), (Some(text("192.0.2.1 printer\n")), 1));
        // Otherwise the file becomes what it was, to the last byte.
        for start in ["127.0.0.1 localhost\n", "127.0.0.1 localhost", "", "\n"] {
            assert_eq!(undone(&text(start), &with(start)), (Some(text(start)), 0), "{start:?}");
            assert_eq!(undone(&text(start), &with(&with(start))), (Some(text(start)), 0), "{start:?}");
        }
        // A block of names that was there before the first `apply` comes back with the rest.
        let old = crate::names::with_names("a\n", &[("10.77.0.9".parse().unwrap(), "n9".to_owned())]);
        assert_eq!(undone(&text(&old), &with(&old)), (Some(text(&old)), 0));
        // Lines that the owner has taken away do not come back.
        assert_eq!(undone(&text("a\nb\n"), &with("b\n")), (Some(text("b\n")), 1));
    }
}
