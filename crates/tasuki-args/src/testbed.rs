//! Arguments that measurements share: the hosts to measure on, and where results go.

use super::{overwrite::Overwrite, rate::rate};
use crate::shape::RatedShape;
use clap::Args;
use nix::unistd::{AccessFlags, access};
use std::{fs, path::PathBuf};
use tasuki_cluster::Rate;
use tasuki_lab::{LabOptions, need_root};
use tasuki_terminal::Failure;

/// Labs or machines to measure on.
#[derive(Debug, Args)]
#[command(after_help = crate::shape::help())]
pub struct HostSource {
    /// Measure on the real machines of this cluster file, this one among them, over ssh, as `tasuki run
    /// --cluster` reaches them; `tasuki apply` must have set them up
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["shape", "lab_of", "lab", "rate", "mtu", "offloads", "unshaped"]
    )]
    pub cluster: Option<PathBuf>,
    /// Build a lab of this shape for the measurement, as full:4 (see below), or as full:4@33M with a rate of
    /// its own; several are measured in turn
    #[arg(long)]
    pub shape: Vec<RatedShape>,
    /// Build a lab of this cluster file for the measurement; several are measured in turn
    #[arg(long, value_name = "FILE")]
    pub lab_of: Vec<PathBuf>,
    /// Measure on this lab; none: the only one that is up
    #[arg(long, conflicts_with_all = ["shape", "lab_of"])]
    pub lab: Option<String>,
    /// One rate for every cable of the labs that are built
    #[arg(long, conflicts_with = "unshaped", value_parser = rate)]
    pub rate: Option<Rate>,
    /// MTU of generated NICs, in bytes
    #[arg(long, default_value_t = 1500)]
    pub mtu: u32,
    /// Leave segmentation and checksum offloads on
    #[arg(long)]
    pub offloads: bool,
    /// Bare cables without rates: the limits of the software
    #[arg(long)]
    pub unshaped: bool,
}

impl HostSource {
    /// Refuses a measurement in labs to users who cannot use them, before programs are built for it.
    pub fn check_rights(&self) -> Result<(), Failure> {
        match &self.cluster {
            None => Ok(need_root()?),
            Some(_) => Ok(()),
        }
    }

    /// Options of a lab to build.
    pub fn options(&self, stem: &str) -> LabOptions {
        // A lab's name is narrower than a shape's.
        let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let mut options = LabOptions::named(format!("bench-{}", stem.chars().take(20).collect::<String>()));
        options.rate = self.rate;
        options.offloads = self.offloads;
        options.unshaped = self.unshaped;
        options
    }
}

/// The option that names real machines, for measurements that refuse them.
#[derive(Debug, Args)]
pub struct LabsOnly {
    /// Refused: the measurement makes its own labs
    #[arg(long, value_name = "FILE", hide = true)]
    pub cluster: Option<PathBuf>,
}

impl LabsOnly {
    /// Says why real machines are refused, if they are asked for.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.cluster {
            None => Ok(()),
            Some(_) => Err(Failure::new(
                "it makes labs of its own, because it changes rates, addresses and interrupt delays of NICs; \
                 for machines there are `tasuki bench mpi --cluster FILE`, and for one cable `tasuki bench \
                 raw --cluster FILE`",
            )),
        }
    }
}

/// Where results go.
#[derive(Debug, Args)]
pub struct Results {
    /// Write table, JSON and plots, where there are any, into this folder
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Whether files that are there already are replaced.
    #[command(flatten)]
    pub overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Results {
    /// Makes the folder for the results of a measurement whose files have this stem, and refuses it if an
    /// earlier measurement has left such files there. To be called before anything is measured, so that no
    /// hour of measuring ends with results that cannot be written. The names of plots follow from what will
    /// have been measured; they come beside these files, and are looked at again when they are written.
    pub fn check(&self, stem: &str) -> Result<(), Failure> {
        let Some(folder) = &self.output else { return Ok(()) };
        self.overwrite.check_in(folder, ["txt", "json"].map(|kind| format!("{stem}.{kind}")))?;
        let fail = |what, error: &dyn std::fmt::Display| {
            Failure::new(format!("cannot {what} {}, where the results are to go: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(|error| fail("make", &error))?;
        access(folder, AccessFlags::W_OK | AccessFlags::X_OK)
            .map_err(|errno| fail("write into", &errno.desc()))
    }
}
