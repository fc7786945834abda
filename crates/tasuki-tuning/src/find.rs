//! Names that are near to one that does not exist.

/// The names that are most like `wanted`, best first: those that contain it, or a part of it, or differ in
/// few letters. At most eight.
pub fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut found: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let distance = distance_of(&wanted, &name.to_lowercase());
            (distance <= wanted.len() / 2).then_some((distance, name))
        })
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    let best = found.first().map_or(0, |(distance, _)| *distance);
    found.retain(|(distance, _)| *distance <= best + 1);
    found.into_iter().map(|(_, name)| name).take(8).collect()
}

/// How far a name is from what was wanted: 0 if it contains it, else the least number of letters to change in
/// the whole name or in the part behind a point.
fn distance_of(wanted: &str, name: &str) -> usize {
    if !wanted.is_empty() && name.contains(wanted) {
        return 0;
    }
    let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    let whole = edits(wanted, name);
    let behind = edits(&last(wanted), &last(name)) + 1;
    whole.min(behind)
}

/// The least number of letters to insert, delete or replace (Levenshtein).
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (place, also) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *also);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["coalesce.FIRST", "coalesce.GAP_NS", "wait.NAP", "grants.EAGER_MAX"];
        let near = |wanted| near(wanted, names.into_iter());
        assert_eq!(near("coalesce.FRIST"), ["coalesce.FIRST"]);
        assert_eq!(near("first"), ["coalesce.FIRST"]);
        assert_eq!(near("eager"), ["grants.EAGER_MAX"]);
        assert_eq!(near("COALESCE."), ["coalesce.FIRST", "coalesce.GAP_NS"]);
        assert!(near("quite another thing").is_empty());
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!((edits("", "abc"), edits("kitten", "sitting"), edits("same", "same")), (3, 3, 0));
    }
}
