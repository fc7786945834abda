//! The papers' figures, as files: `data/*.toml` of this crate, or a reader's own copies of them.

mod atm;
mod fukunaga;
mod rhinet2;
mod score;

pub use atm::Atm;
pub use fukunaga::{Cross, Fukunaga, NicDistribution};
pub use rhinet2::{Barrier, Rhinet2};
pub use score::Score;

use serde::de::DeserializeOwned;
use std::{fs, path::Path};
use thiserror::Error;

/// The figures of all papers.
#[derive(Clone, Debug)]
pub struct Data {
    /// Koibuchi and others: RHiNET-2.
    pub rhinet2: Rhinet2,
    /// Ooi and others: an ATM cluster.
    pub atm: Atm,
    /// Fukunaga and others: cross-connection, and NIC distribution.
    pub fukunaga: Fukunaga,
    /// Ishikawa and others: SCore III.
    pub score: Score,
}

/// Names and texts of the files.
pub const FILES: [(&str, &str); 4] = [
    ("rhinet2.toml", include_str!("../../data/rhinet2.toml")),
    ("atm.toml", include_str!("../../data/atm.toml")),
    ("fukunaga.toml", include_str!("../../data/fukunaga.toml")),
    ("scoreiii.toml", include_str!("../../data/scoreiii.toml")),
];

/// Why figures cannot be read.
#[derive(Debug, Error)]
pub enum DataError {
    /// The file cannot be read.
    #[error("{file}: {error}")]
    File {
        /// Path of the file.
        file: String,
        /// The system's reason.
        error: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{file}: {error}")]
    Text {
        /// Path of the file.
        file: String,
        /// Line, key and reason.
        error: toml::de::Error,
    },
}

impl Data {
    /// The figures of this build.
    pub fn built_in() -> Result<Data, DataError> {
        let [rhinet2, atm, fukunaga, score] = FILES;
        Self::of([rhinet2, atm, fukunaga, score].map(|(file, text)| (file.to_owned(), text.to_owned())))
    }

    /// The figures of the files in a folder, which have the names of those of this build.
    pub fn of_folder(folder: &Path) -> Result<Data, DataError> {
        let mut texts = Vec::new();
        for (name, _) in FILES {
            let path = folder.join(name);
            let file = path.display().to_string();
            let text =
                fs::read_to_string(&path).map_err(|error| DataError::File { file: file.clone(), error })?;
            texts.push((file, text));
        }
        let [rhinet2, atm, fukunaga, score] = [0, 1, 2, 3].map(|at: usize| texts[at].clone());
        Self::of([rhinet2, atm, fukunaga, score])
    }

    /// The figures of four files, each with its name, in the order of [`FILES`].
    pub fn of([rhinet2, atm, fukunaga, score]: [(String, String); 4]) -> Result<Data, DataError> {
        let atm: atm::File = read(atm)?;
        Ok(Data { rhinet2: read(rhinet2)?, atm: atm.atm, fukunaga: read(fukunaga)?, score: read(score)? })
    }
}

fn read<T: DeserializeOwned>((file, text): (String, String)) -> Result<T, DataError> {
    toml::from_str(&text).map_err(|error| DataError::Text { file, error })
}
