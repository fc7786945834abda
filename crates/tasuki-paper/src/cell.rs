//! Claims of papers, what was found here, and the cells that set one beside the other.

use crate::lab::median;
use crate::rule::Rule;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a published figure is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It went into the model or chose between models, so that meeting it proves nothing.
    Input,
    /// It was not used, so that meeting it says that the model or the machine behaves as theirs did.
    Predicted,
}

/// How a claim depends on networks that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Not at all.
    Known,
    /// It is one of the figures that one of the networks must have at the same time: the claim of this name
    /// is judged, and this one is not counted.
    PartOf(&'static str),
    /// It is judged over those networks that have all parts of the claim of this name.
    Over(&'static str),
}

/// A published figure and the rule by which ours will be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Table, figure or section: "T3", "F6", "4.2".
    pub item: &'static str,
    /// Name of the cell within the item; unique there.
    pub cell: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// The published figure; of a statement 1 (it holds) or 0.
    pub published: f64,
    /// When ours agrees.
    pub rule: Rule,
    /// Whether it depends on networks that the paper leaves open.
    pub open: Open,
    /// A remark for the reader.
    pub note: &'static str,
}

impl Claim {
    /// A claim about something known.
    pub fn new(
        item: &'static str,
        cell: impl Into<String>,
        unit: &'static str,
        published: f64,
        rule: Rule,
    ) -> Self {
        Claim { item, cell: cell.into(), unit, published, rule, open: Open::Known, note: "" }
    }

    /// A statement that holds.
    pub fn statement(item: &'static str, cell: impl Into<String>) -> Self {
        Self::new(item, cell, "holds", 1.0, Rule::Holds)
    }

    /// This claim with a remark.
    #[must_use]
    pub fn noted(self, note: &'static str) -> Self {
        Claim { note, ..self }
    }

    /// This claim about networks that the paper leaves open.
    #[must_use]
    pub fn open(self, open: Open) -> Self {
        Claim { open, ..self }
    }
}

/// What was found for a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// The figure.
    pub value: f64,
    /// Its least and greatest value over repetitions, or over what is unknown.
    pub range: Option<[f64; 2]>,
    /// Its value in each of the networks that the paper leaves open.
    pub each: Vec<f64>,
    /// A remark for the reader.
    pub note: String,
}

/// All that was found, by item and cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    found: BTreeMap<(String, String), Finding>,
    /// What was run besides, without a published figure beside it.
    pub notes: Vec<String>,
}

impl Findings {
    /// Adds a figure.
    pub fn put(&mut self, item: &str, cell: impl Into<String>, value: f64) -> &mut Finding {
        self.add(item, cell, Finding { value, ..Finding::default() })
    }

    /// Adds a figure with its range.
    pub fn put_range(&mut self, item: &str, cell: impl Into<String>, values: &[f64]) -> &mut Finding {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let value = median(values.to_vec());
        let range = sorted.first().copied().zip(sorted.last().copied()).map(|(low, high)| [low, high]);
        self.add(item, cell, Finding { value, range, ..Finding::default() })
    }

    /// Adds a figure that each of the open networks has.
    pub fn put_each(&mut self, item: &str, cell: impl Into<String>, each: Vec<f64>) -> &mut Finding {
        let finding = self.put_range(item, cell, &each);
        finding.each = each;
        finding
    }

    fn add(&mut self, item: &str, cell: impl Into<String>, finding: Finding) -> &mut Finding {
        let slot = self.found.entry((item.to_owned(), cell.into())).or_default();
        *slot = finding;
        slot
    }

    /// What was found for a cell.
    pub fn get(&self, item: &str, cell: &str) -> Option<&Finding> {
        self.found.get(&(item.to_owned(), cell.to_owned()))
    }

    /// Items and cells of all that was found.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.found.keys().map(|(item, cell)| (item.as_str(), cell.as_str()))
    }

    /// Adds all that others found.
    pub fn extend(&mut self, others: Findings) {
        self.found.extend(others.found);
        self.notes.extend(others.notes);
    }
}

/// A published figure beside ours, and the verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Name of the paper, as in the command.
    pub paper: &'static str,
    /// Table, figure or section.
    pub item: &'static str,
    /// Name of the cell within the item.
    pub cell: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Whether the published figure was used or predicted.
    pub role: Role,
    /// The published figure; of a statement 1 (it holds) or 0.
    pub published: f64,
    /// Ours; `None`: it was not run.
    pub here: Option<f64>,
    /// Least and greatest of ours over repetitions, or over what the paper leaves open.
    pub range: Option<[f64; 2]>,
    /// The rule, in words.
    pub rule: String,
    /// The verdict; `None`: an input, or not run.
    pub agrees: Option<bool>,
    /// The cell in which this one is counted, if it is not counted on its own.
    pub part_of: Option<&'static str>,
    /// Remarks for the reader.
    pub note: String,
}

/// In which column of the summary a cell is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It went in.
    Input,
    /// Predicted, and it agrees.
    Agrees,
    /// Predicted, and it does not agree.
    Differs,
    /// Predicted by nobody: it was not run.
    NotRun,
    /// It is counted within another cell.
    Part,
}

impl Cell {
    /// Our figure; `None`: it was not run.
    pub fn ours(&self) -> Option<f64> {
        self.here
    }

    /// In which column of the summary it is counted.
    pub fn standing(&self) -> Standing {
        match (self.role, self.part_of, self.agrees) {
            (Role::Input, _, _) => Standing::Input,
            (_, Some(_), _) => Standing::Part,
            (_, _, Some(true)) => Standing::Agrees,
            (_, _, Some(false)) => Standing::Differs,
            (_, _, None) => Standing::NotRun,
        }
    }
}
