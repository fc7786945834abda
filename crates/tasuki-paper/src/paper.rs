//! The five papers, and what all of them have in common.

use crate::cell::{Cell, Claim, Findings};
use crate::data::Data;
use crate::judge::judge;
use crate::lab::Stage;
use crate::rhinet2::Rhinet2Error;
use crate::score::ScoreError;
use crate::{atm, cross, nic, rhinet2, score};
use serde_json::Value;
use std::{fmt, path::Path, str::FromStr};
use thiserror::Error;

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// PCs cabled to each other.
    Fukunaga,
    /// One stream over several NICs.
    Nic,
    /// SCore III.
    Score,
    /// An ATM cluster.
    Atm,
    /// RHiNET-2.
    Rhinet2,
}

/// Why a paper cannot be run.
#[derive(Debug, Error)]
pub enum PaperError {
    /// The evaluation on RHiNET-2 cannot be simulated.
    #[error(transparent)]
    Rhinet2(#[from] Rhinet2Error),
    /// SCore III cannot be simulated.
    #[error(transparent)]
    Score(#[from] ScoreError),
    /// Nothing of the paper is replayed from traces.
    #[error("--traces: only rhinet2 replays programs, {0} does not")]
    NoPrograms(&'static str),
}

/// There is no such paper.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no paper '{0}': fukunaga, nic, score, atm, rhinet2")]
pub struct UnknownPaper(String);

impl Paper {
    /// All papers.
    pub const ALL: [Paper; 5] = [Paper::Fukunaga, Paper::Nic, Paper::Score, Paper::Atm, Paper::Rhinet2];

    /// Name in commands and records.
    pub fn name(self) -> &'static str {
        match self {
            Paper::Fukunaga => "fukunaga",
            Paper::Nic => "nic",
            Paper::Score => "score",
            Paper::Atm => "atm",
            Paper::Rhinet2 => "rhinet2",
        }
    }

    /// Authors and title.
    pub fn title(self) -> &'static str {
        match self {
            Paper::Fukunaga => "Fukunaga, Umeno, Ashihara: Tuning of a small-scale PC cluster",
            Paper::Nic => "Fukunaga and others: Bandwidth by spreading communication over several NICs",
            Paper::Score => "Ishikawa, Sumimoto, Harada: Building a large PC cluster (SCore III)",
            Paper::Atm => "Ooi, Osawa, Yuba: MPI data transfer throughput on an ATM workstation cluster",
            Paper::Rhinet2 => "Koibuchi, Watanabe, Otsuka, Amano: Topologies on the RHiNET-2 cluster",
        }
    }

    /// All that the paper's text states in figures and that something here can stand beside, or could.
    pub fn claims(self, data: &Data) -> Vec<Claim> {
        match self {
            Paper::Fukunaga => cross::claims(&data.fukunaga.cross_connection),
            Paper::Nic => nic::claims(&data.fukunaga.nic_distribution),
            Paper::Score => score::claims(&data.score),
            Paper::Atm => atm::claims(&data.atm),
            Paper::Rhinet2 => rhinet2::claims(&data.rhinet2),
        }
    }

    /// Number of times that [`Paper::simulate`] calls `progress`, about.
    pub fn simulations(self) -> u64 {
        match self {
            Paper::Fukunaga | Paper::Nic => 0,
            Paper::Score => score::STAGES,
            Paper::Atm => atm::STAGES,
            Paper::Rhinet2 => rhinet2::STAGES,
        }
    }

    /// Computes and simulates what needs no lab. `progress` is called with the name of each stage as it
    /// begins.
    pub fn simulate(
        self,
        data: &Data,
        quick: bool,
        progress: impl FnMut(&str),
    ) -> Result<Findings, PaperError> {
        Ok(match self {
            Paper::Fukunaga | Paper::Nic => Findings::default(),
            Paper::Score => score::run(quick, progress)?,
            Paper::Atm => atm::run(progress),
            Paper::Rhinet2 => {
                let lists = if quick { QUICK_LISTS } else { rhinet2::Effort::default().lists };
                let effort = rhinet2::Effort { lists, ..rhinet2::Effort::default() };
                rhinet2::run(&rhinet2::Model::fitted(), &data.rhinet2, effort, progress)?
            }
        })
    }

    /// Replays the programs that the paper ran, from the traces of a folder. `progress` is called with the
    /// name of each program as it begins.
    ///
    /// # Errors
    /// If the paper ran none that is replayed, or the traces cannot be replayed.
    pub fn replay(
        self,
        data: &Data,
        folder: &Path,
        progress: impl FnMut(&str),
    ) -> Result<Findings, PaperError> {
        match self {
            Paper::Rhinet2 => {
                Ok(rhinet2::programs(&rhinet2::Model::fitted(), &data.rhinet2, folder, progress)?)
            }
            _ => Err(PaperError::NoPrograms(self.name())),
        }
    }

    /// The measurements in labs, which need root.
    pub fn stages(self, quick: bool) -> Vec<Stage> {
        match self {
            Paper::Fukunaga => cross::stages(quick),
            Paper::Nic => nic::stages(quick),
            Paper::Score => score::stages(quick),
            Paper::Atm | Paper::Rhinet2 => Vec::new(),
        }
    }

    /// What the JSON of a measurement says about the claims.
    pub fn read(self, stage: &str, json: &Value) -> Findings {
        match self {
            Paper::Fukunaga => cross::read(stage, json),
            Paper::Nic => nic::read(stage, json),
            Paper::Score => score::read(stage, json),
            Paper::Atm | Paper::Rhinet2 => Findings::default(),
        }
    }

    /// The cells: every claim beside what was found.
    pub fn cells(self, data: &Data, found: &Findings) -> Vec<Cell> {
        judge(self.name(), &self.claims(data), found)
    }
}

/// Visit lists of barriers in a quick run.
const QUICK_LISTS: u32 = 60;

impl fmt::Display for Paper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Paper {
    type Err = UnknownPaper;

    fn from_str(name: &str) -> Result<Self, UnknownPaper> {
        let found = Self::ALL.into_iter().find(|paper| paper.name() == name);
        found.ok_or_else(|| UnknownPaper(name.into()))
    }
}
