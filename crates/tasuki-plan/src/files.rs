//! Reads and writes text files, with errors that name the file.

use crate::PlanningError;
use std::path::Path;
use tasuki_cluster::replace_file;

/// Writes a text file. One that is there stays as it is if the new one cannot be written whole.
pub fn write_file(path: &Path, text: &str) -> Result<(), PlanningError> {
    let fail = |source| PlanningError::File { verb: "write", path: path.into(), source };
    replace_file(path, text.as_bytes(), None).map_err(fail)
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
