//! HPC Challenge (`hpcc`), the parallel program that decides whether a stack works: its input, and every
//! verification that its output reports.
//!
//! The program reads `hpccinf.txt` and appends to `hpccoutf.txt` in the working directory of rank 0. Most of
//! its verdicts are lines in the section of a test, not fields of the summary at the end; both are read.

mod input;
mod verify;

pub use input::Input;
pub use verify::{Check, Outcome};

use std::{
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Name of the input file.
pub const INPUT_FILE: &str = "hpccinf.txt";
/// Name of the output file.
pub const OUTPUT_FILE: &str = "hpccoutf.txt";

/// Why a run cannot be prepared or judged.
#[derive(Debug, Error)]
pub enum HpccError {
    /// A file cannot be written or read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The memory is too small for the number of ranks.
    #[error("hpcc with {ranks} ranks needs at least {least} bytes for its matrix, not {memory}")]
    Memory {
        /// Number of ranks asked for.
        ranks: u32,
        /// Bytes asked for.
        memory: u64,
        /// Bytes needed.
        least: u64,
    },
    /// The number of ranks is zero.
    #[error("hpcc needs at least one rank")]
    NoRanks,
}

/// Writes the input file into `folder`, and removes the output of an earlier run, because hpcc would append
/// to it.
pub fn prepare(folder: &Path, input: &Input) -> Result<(), HpccError> {
    let output = folder.join(OUTPUT_FILE);
    match std::fs::remove_file(&output) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(HpccError::File { path: output, source });
        }
        _ => {}
    }
    let path = folder.join(INPUT_FILE);
    std::fs::write(&path, input.text()).map_err(|source| HpccError::File { path, source })
}

/// Reads and judges the output of a run that was prepared in `folder`.
pub fn collect(folder: &Path, input: &Input) -> Result<Outcome, HpccError> {
    let path = folder.join(OUTPUT_FILE);
    let text = std::fs::read(&path).map_err(|source| HpccError::File { path, source })?;
    Ok(Outcome::of(&String::from_utf8_lossy(&text), input.ranks()))
}
