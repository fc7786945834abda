//! Sets what was found beside what was claimed.

use crate::cell::{Cell, Claim, Finding, Findings, Open, Role, Standing};
use crate::rule::Rule;
use serde::Serialize;

/// The cells of a paper: one for every claim, in the order of the claims.
pub fn judge(paper: &'static str, claims: &[Claim], findings: &Findings) -> Vec<Cell> {
    claims.iter().map(|claim| cell(paper, claim, claims, findings)).collect()
}

fn cell(paper: &'static str, claim: &Claim, claims: &[Claim], findings: &Findings) -> Cell {
    let found = match (claim.rule, claim.open) {
        (Rule::Together, _) => together(claim, claims, findings),
        (_, Open::PartOf(group)) => in_closest(claim, group, claims, findings),
        (_, Open::Over(group)) => over_fitting(claim, group, claims, findings),
        (_, Open::Known) => findings.get(claim.item, &claim.cell).cloned(),
    };
    let here = found.as_ref().map(|found| found.value);
    let range = found.as_ref().and_then(|found| found.range);
    let part_of = match claim.open {
        Open::PartOf(group) => Some(group),
        _ => None,
    };
    let judged = here.and_then(|here| match part_of {
        // A part is judged by its value in the network that comes closest, the range shows the others.
        Some(_) => claim.rule.agrees(claim.published, here, None),
        None => claim.rule.agrees(claim.published, here, range),
    });
    let said = found.map(|found| found.note).unwrap_or_default();
    let notes: Vec<&str> = [claim.note, &said].into_iter().filter(|note| !note.is_empty()).collect();
    Cell {
        paper,
        item: claim.item,
        cell: claim.cell.clone(),
        unit: claim.unit,
        role: if claim.rule == Rule::Input { Role::Input } else { Role::Predicted },
        published: claim.published,
        here,
        range,
        rule: claim.rule.text(claim.unit),
        agrees: judged,
        part_of,
        note: notes.join("; "),
    }
}

/// For each of the open networks whether it has all parts of a claim, and how far it is off. `None` if one
/// part was not found.
fn fits(group: &str, claims: &[Claim], findings: &Findings) -> Option<Vec<(bool, f64)>> {
    let parts = claims.iter().filter(|claim| matches!(claim.open, Open::PartOf(name) if name == group));
    let mut all: Option<Vec<(bool, f64)>> = None;
    for part in parts {
        let each = &findings.get(part.item, &part.cell)?.each;
        let verdicts = each.iter().map(|&value| {
            let agrees = part.rule.agrees(part.published, value, None) == Some(true);
            (agrees, part.rule.strain(part.published, value))
        });
        all = Some(match all {
            None => verdicts.collect(),
            Some(before) => before
                .into_iter()
                .zip(verdicts)
                .map(|((all, worst), (agrees, strain))| (all && agrees, worst.max(strain)))
                .collect(),
        });
    }
    all.filter(|all| !all.is_empty())
}

fn together(claim: &Claim, claims: &[Claim], findings: &Findings) -> Option<Finding> {
    let fits = fits(&claim.cell, claims, findings)?;
    let count = fits.iter().filter(|(all, _)| *all).count();
    let note = format!("{count} of {} networks have all parts", fits.len());
    Some(Finding { value: count as f64, note, ..Finding::default() })
}

/// The value of a part in the network that comes closest to all parts.
fn in_closest(claim: &Claim, group: &str, claims: &[Claim], findings: &Findings) -> Option<Finding> {
    let fits = fits(group, claims, findings)?;
    let found = findings.get(claim.item, &claim.cell)?;
    let strains = fits.iter().map(|(_, strain)| *strain).enumerate();
    let (closest, _) = strains.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Finding { value: *found.each.get(closest)?, ..found.clone() })
}

/// Median and range over the networks that have all parts of a claim; over all if none has, which the note
/// says, as a range over many networks proves little.
fn over_fitting(claim: &Claim, group: &str, claims: &[Claim], findings: &Findings) -> Option<Finding> {
    let fits = fits(group, claims, findings)?;
    let found = findings.get(claim.item, &claim.cell)?;
    let none = fits.iter().all(|(all, _)| !all);
    let of_fitting = found.each.iter().zip(&fits).filter(|(_, fit)| fit.0 || none).map(|(value, _)| *value);
    let mut kept = Findings::default();
    let kept = kept.put_range("", "", &of_fitting.collect::<Vec<_>>());
    let all = none.then(|| format!("none of {} networks has all parts: over all of them", fits.len()));
    let notes: Vec<String> =
        all.into_iter().chain(Some(found.note.clone()).filter(|it| !it.is_empty())).collect();
    Some(Finding { note: notes.join("; "), ..kept.clone() })
}

/// How many cells of a paper stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Figures that went in.
    pub input: usize,
    /// Predicted figures that agree.
    pub agrees: usize,
    /// Predicted figures that do not.
    pub differs: usize,
    /// Figures that nobody ran.
    pub not_run: usize,
    /// Figures that are counted within others.
    pub parts: usize,
}

impl Tally {
    /// Counts cells.
    pub fn of(cells: &[Cell]) -> Tally {
        let mut tally = Tally::default();
        for cell in cells {
            *match cell.standing() {
                Standing::Input => &mut tally.input,
                Standing::Agrees => &mut tally.agrees,
                Standing::Differs => &mut tally.differs,
                Standing::NotRun => &mut tally.not_run,
                Standing::Part => &mut tally.parts,
            } += 1;
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "one network";

    fn claims() -> Vec<Claim> {
        let part = |cell, published| {
            Claim::new("T1", cell, "us", published, Rule::Percent(2.0)).open(Open::PartOf(GROUP))
        };
        vec![
            part("time", 100.0),
            part("hops", 10.0),
            Claim::new("T1", GROUP, "networks", 1.0, Rule::Together),
            Claim::new("T2", "waiting", "us", 1.0, Rule::RangeHolds(0.5)).open(Open::Over(GROUP)),
            Claim::new("T3", "never run", "us", 5.0, Rule::Percent(2.0)),
            Claim::new("T4", "fitted", "us", 7.0, Rule::Input),
        ]
    }

    fn findings() -> Findings {
        let mut findings = Findings::default();
        findings.put_each("T1", "time", vec![100.0, 120.0, 101.0]);
        findings.put_each("T1", "hops", vec![12.0, 10.0, 10.1]);
        findings.put_each("T2", "waiting", vec![1.0, 1.0, 0.2]);
        findings.put("T4", "fitted", 7.0);
        findings
    }

    /// Each published figure is met by some network, but only the third has both; the claim over the fitting
    /// ones sees that one alone.
    #[test]
    fn networks_must_have_all_parts_at_the_same_time() {
        let cells = judge("p", &claims(), &findings());
        assert_eq!((cells[0].here, cells[1].here), (Some(101.0), Some(10.1)));
        assert_eq!((cells[2].here, cells[2].agrees), (Some(1.0), Some(true)));
        assert_eq!((cells[3].range, cells[3].agrees), (Some([0.2, 0.2]), Some(false)));
        assert_eq!(Tally::of(&cells), Tally { input: 1, agrees: 1, differs: 1, not_run: 1, parts: 2 });
    }

    /// The first two networks lack one part each, and the published figure lies between theirs.
    #[test]
    fn what_is_judged_over_networks_that_do_not_fit_says_so() {
        let mut findings = Findings::default();
        findings.put_each("T1", "time", vec![100.0, 120.0]);
        findings.put_each("T1", "hops", vec![12.0, 10.0]);
        findings.put_each("T2", "waiting", vec![0.2, 1.8]).note = "simulated".into();
        let cells = judge("p", &claims(), &findings);
        assert_eq!((cells[2].here, cells[3].here), (Some(0.0), Some(1.0)));
        assert_eq!(cells[3].note, "none of 2 networks has all parts: over all of them; simulated");
        let fitting = judge("p", &claims(), &self::findings());
        assert_eq!(fitting[3].note, "");
    }

    #[test]
    fn a_changed_part_turns_the_whole_claim() {
        let mut claims = claims();
        claims[0].published = 150.0;
        let cells = judge("p", &claims, &findings());
        assert_eq!((cells[2].here, cells[2].agrees), (Some(0.0), Some(false)));
    }
}
