//! How one text becomes another, as `diff -u` writes it and patch(1) reads it.

use std::fmt::Write as _;

/// Lines around a change that are shown.
const CONTEXT: usize = 3;

/// One line of the way from one text to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The patch of the file of this name; empty if the texts are the same. A last line without an end counts as
/// one that has it.
pub fn patch(name: &str, old: &str, new: &str) -> String {
    let (a, b): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let way = way(&a, &b);
    let changed: Vec<usize> = (0..way.len()).filter(|&at| !matches!(way[at], Line::Same(_))).collect();
    if changed.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {name}\n+++ {name}\n");
    let mut next = 0;
    while let Some(&first) = changed.iter().find(|&&at| at >= next) {
        let mut last = first;
        while let Some(&more) = changed.iter().find(|&&at| at > last && at - last <= 2 * CONTEXT) {
            last = more;
        }
        let (from, to) = (first.saturating_sub(CONTEXT), (last + CONTEXT + 1).min(way.len()));
        hunk(&mut text, &way, from, to);
        next = last + 1;
    }
    text
}

fn hunk(text: &mut String, way: &[Line<'_>], from: usize, to: usize) {
    let count = |lines: &[Line<'_>]| {
        let old = lines.iter().filter(|line| !matches!(line, Line::New(_))).count();
        let new = lines.iter().filter(|line| !matches!(line, Line::Gone(_))).count();
        (old, new)
    };
    let ((old, new), (olds, news)) = (count(&way[..from]), count(&way[from..to]));
    // A hunk without lines begins behind the line before it.
    let start = |before: usize, lines: usize| before + usize::from(lines > 0);
    // Writing into a string cannot fail, here and below.
    let _ = writeln!(text, "@@ -{},{olds} +{},{news} @@", start(old, olds), start(new, news));
    for line in &way[from..to] {
        let _ = match line {
            Line::Same(line) => writeln!(text, " {line}"),
            Line::Gone(line) => writeln!(text, "-{line}"),
            Line::New(line) => writeln!(text, "+{line}"),
        };
    }
}

/// The way with the fewest changed lines: the longest common subsequence of what is between the equal lines
/// at both ends.
fn way<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<Line<'a>> {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a_rest, b_rest) = (&a[head..], &b[head..]);
    let tail = a_rest.iter().rev().zip(b_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (x, y) = (&a_rest[..a_rest.len() - tail], &b_rest[..b_rest.len() - tail]);
    let width = y.len() + 1;
    // common[i * width + j]: the longest one of x[i..] and y[j..].
    let mut common = vec![0u32; (x.len() + 1) * width];
    for i in (0..x.len()).rev() {
        for j in (0..y.len()).rev() {
            common[i * width + j] = match x[i] == y[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let mut way: Vec<Line<'a>> = a[..head].iter().map(|line| Line::Same(line)).collect();
    let (mut i, mut j) = (0, 0);
    while i < x.len() || j < y.len() {
        if i < x.len() && j < y.len() && x[i] == y[j] {
            way.push(Line::Same(x[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < x.len() && (j == y.len() || common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            way.push(Line::Gone(x[i]));
            i += 1;
        } else {
            way.push(Line::New(y[j]));
            j += 1;
        }
    }
    way.extend(a_rest[x.len()..].iter().map(|line| Line::Same(line)));
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_the_form_of_diff_u() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\nb\nc\nD\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let expected = "--- f\n+++ f\n@@ -1,7 +1,7 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n\
                        @@ -9,3 +9,4 @@\n\x20i\n j\n k\n+l\n";
        assert_eq!(patch("f", old, new), expected);
        assert_eq!(patch("f", old, old), "");
        assert_eq!(patch("f", "", "x\n"), "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+x\n");
    }
}
