//! `tasuki paper`

use super::overwrite::Overwrite;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tasuki_paper::Paper;

/// Explains `tasuki paper`.
pub const PAPER_HELP: &str = "\
Every figure that a paper states, beside ours: what went in (input), and what was predicted, with the rule \
by which it agrees, stated before anything is run. What does not agree is shown and counted, and so is what \
nobody has run. docs/guide/papers.md says how to read it.

  rhinet2    topologies on RHiNET-2: simulated
  atm        rate control on an ATM cluster: its model, simulated
  score      SCore III: networks computed and simulated; messages and starts in labs (root)
  nic        one stream over several NICs: labs (root)
  fukunaga   cross-connected PCs: labs (root)

Without --quick it takes from seconds (atm) to hours (fukunaga); with --results it can be interrupted, and \
goes on with the same command.

Examples:
  tasuki paper list
  tasuki paper rhinet2 --quick
  tasuki paper rhinet2 --rules                   # what will be judged, and how, without running anything
  tasuki paper rhinet2 --traces traces           # its NAS programs too: docs/guide/papers.md
  sudo tasuki paper nic --results nic            # hours; Ctrl-C, and go on with the same command
  tasuki paper atm --json | jq '.[] | select(.agrees == false)'
  tasuki paper rhinet2 --data my                 # with a copy of the papers' figures, changed";

/// Commands about papers.
#[derive(Debug, Subcommand)]
pub enum PaperCommand {
    /// The papers, and how many of their figures can be judged
    List(PaperList),
    /// Cross-connected PCs (Fukunaga, Umeno, Ashihara)
    Fukunaga(PaperArgs),
    /// One stream over several NICs (Fukunaga and others)
    Nic(PaperArgs),
    /// SCore III (Ishikawa, Sumimoto, Harada)
    Score(PaperArgs),
    /// Rate control on an ATM cluster (Ooi, Osawa, Yuba)
    Atm(PaperArgs),
    /// Topologies on RHiNET-2 (Koibuchi, Watanabe, Otsuka, Amano)
    Rhinet2(PaperArgs),
    /// Write the papers' figures, as this build has them, into a folder
    Data(PaperData),
}

impl PaperCommand {
    /// The paper that is asked for, with the options.
    pub fn paper(&self) -> Option<(Paper, &PaperArgs)> {
        Some(match self {
            Self::List(_) | Self::Data(_) => return None,
            Self::Fukunaga(arguments) => (Paper::Fukunaga, arguments),
            Self::Nic(arguments) => (Paper::Nic, arguments),
            Self::Score(arguments) => (Paper::Score, arguments),
            Self::Atm(arguments) => (Paper::Atm, arguments),
            Self::Rhinet2(arguments) => (Paper::Rhinet2, arguments),
        })
    }
}

/// Options of `tasuki paper list`.
#[derive(Debug, Args)]
pub struct PaperList {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `tasuki paper data`.
#[derive(Debug, Args)]
pub struct PaperData {
    /// The folder; it is made if it does not exist
    pub folder: PathBuf,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
}

/// Options of `tasuki paper NAME`.
#[derive(Debug, Args)]
pub struct PaperArgs {
    /// Sooner: fewer repetitions, smaller problems, less of what takes long
    #[arg(long)]
    pub quick: bool,
    /// Show what will be judged, and by which rule, and run nothing
    #[arg(long, conflicts_with_all = ["quick", "results", "no_labs"])]
    pub rules: bool,
    /// Keep the results of measurements in this folder, and take those that are there already
    #[arg(long, value_name = "FOLDER")]
    pub results: Option<PathBuf>,
    /// Compute and simulate only, as other users than root always do
    #[arg(long)]
    pub no_labs: bool,
    /// Replay the NAS programs of rhinet2 from the traces in this folder: cg.S.16.trace, is.S.16.trace,
    /// is.S.32.trace, is.S.64.trace, as our kernels write them
    #[arg(long, value_name = "FOLDER", conflicts_with = "rules")]
    pub traces: Option<PathBuf>,
    /// Take the papers' figures from the files of this folder, as `tasuki paper data` writes them
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// Write a page for a browser here
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
