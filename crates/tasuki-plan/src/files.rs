//! Reads and writes text files, with errors that name the file.

use crate::PlanningError;
use std::{fs, path::Path};

/// Writes a text file.
pub fn write_file(path: &Path, text: &str) -> Result<(), PlanningError> {
    let fail = |source| PlanningError::File { verb: "write", path: path.into(), source };
    fs::write(path, text).map_err(fail)
}

/// Reads a text file.
pub(crate) fn read_file(path: &Path) -> Result<String, PlanningError> {
    let fail = |error: tasuki_cluster::TextError| PlanningError::File {
        verb: "read",
        path: path.into(),
        source: error.into(),
    };
    tasuki_cluster::read_text(path).map_err(fail)
}
