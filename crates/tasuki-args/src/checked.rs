//! What `tasuki cluster check` says of files.

use serde::Serialize;
use std::{fmt, path::Path};
use tasuki_cluster::{Cluster, ClusterError, ClusterErrors};
use tasuki_terminal::counted;

/// A cluster file that was read: what it describes, or all that is wrong with it.
#[derive(Debug, Serialize)]
pub struct CheckedFile {
    /// The file, as it was named.
    file: String,
    /// How many hosts, switches and cables it has; `None`: it has errors.
    #[serde(flatten)]
    counts: Option<Counts>,
    /// The errors; empty: there are none.
    errors: Vec<FileError>,
    /// The errors as a compiler prints them.
    #[serde(skip)]
    text: String,
}

#[derive(Debug, Serialize)]
struct Counts {
    hosts: usize,
    switches: usize,
    cables: usize,
}

/// One error.
#[derive(Debug, Serialize)]
struct FileError {
    /// Line and column, from 1; 0: the file as a whole.
    line: usize,
    column: usize,
    key: String,
    problem: String,
    /// What to do.
    help: String,
    /// Other places that matter.
    notes: Vec<FileNote>,
}

#[derive(Debug, Serialize)]
struct FileNote {
    line: usize,
    column: usize,
    note: String,
}

impl CheckedFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Self {
        let file = path.display().to_string();
        match Cluster::load(path) {
            Ok(Cluster { hosts, switches, cables, .. }) => {
                let counts = Counts { hosts: hosts.len(), switches: switches.len(), cables: cables.len() };
                Self { file, counts: Some(counts), errors: Vec::new(), text: String::new() }
            }
            Err(found) => Self::wrong(file, &found),
        }
    }

    fn wrong(file: String, found: &ClusterErrors) -> Self {
        let error = |error: &ClusterError| FileError {
            line: error.place.line,
            column: error.place.column,
            key: error.key.clone(),
            problem: error.problem.to_string(),
            help: error.problem.help(),
            notes: {
                let notes = error.notes.iter().map(|(place, note)| FileNote {
                    line: place.line,
                    column: place.column,
                    note: note.clone(),
                });
                notes.collect()
            },
        };
        let errors = found.errors.iter().map(error).collect();
        Self { file, counts: None, errors, text: found.to_string() }
    }

    /// Whether it has no errors.
    pub fn is_good(&self) -> bool {
        self.counts.is_some()
    }
}

impl fmt::Display for CheckedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(counts) = &self.counts else { return f.write_str(&self.text) };
        write!(
            f,
            "{}: {}, {}, {}, no errors",
            self.file,
            counted(counts.hosts, "host", "s"),
            counted(counts.switches, "switch", "es"),
            counted(counts.cables, "cable", "s")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn scripts_learn_what_a_file_has_or_where_it_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.toml");
        let good = "[[host]]\nname = \"a\"\nnic = [{ name = \"eth1\" }]\n";
        fs::write(&file, good).unwrap();
        let checked = CheckedFile::read(&file);
        let said = serde_json::to_value(&checked).unwrap();
        assert_eq!(
            (&said["hosts"], &said["cables"], &said["errors"]),
            (&1.into(), &0.into(), &[(); 0].into())
        );
        assert!(
            checked.is_good() && checked.to_string().ends_with("1 host, 0 switches, 0 cables, no errors")
        );
        fs::write(&file, good.replace("name = \"a\"", "nmae = \"a\"\nname = \"a\"")).unwrap();
        let checked = CheckedFile::read(&file);
        let said = serde_json::to_value(&checked).unwrap();
        assert!(!checked.is_good() && said["hosts"].is_null(), "{said}");
        let error = &said["errors"][0];
        assert_eq!((&error["line"], &error["column"]), (&2.into(), &1.into()), "{said}");
        assert!(error["help"].as_str().unwrap().contains("name"), "{said}");
        assert!(checked.to_string().contains("nmae"), "{checked}");
        let absent = CheckedFile::read(Path::new("/no/such.toml"));
        let said = serde_json::to_value(&absent).unwrap();
        assert_eq!((&said["errors"][0]["line"], absent.is_good()), (&0.into(), false), "{said}");
    }
}
