//! What one host has to say.

use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};
use tasuki_ring::stats_page::{ReadError, Reader, Snapshot, list};
use tasuki_stripe::StripeCounts;
use tasuki_sys::netlink::Netlink;

/// The hidden subcommand of `tasuki` that prints a host's [`HostPages`] as JSON.
pub const PAGES_COMMAND: &str = "stats-pages";

/// The statistics pages and striping counters of one host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct HostPages {
    /// Pages of processes that live.
    pub pages: Vec<Snapshot>,
    /// Pages that could not be read, and why.
    pub problems: Vec<String>,
    /// What the host striped over its NICs.
    #[serde(default)]
    pub striping: Option<StripeCounts>,
    /// Why that is not known: only root may read the counters.
    #[serde(default)]
    pub striping_problem: Option<String>,
}

impl HostPages {
    /// Those of the host that this process runs on.
    pub fn local() -> Self {
        let mut found = Self::of_processes();
        match striping() {
            Ok(striping) => found.striping = striping,
            Err(problem) => found.striping_problem = Some(problem),
        }
        found
    }

    /// Those of this host's processes, without what it stripes.
    pub fn of_processes() -> Self {
        let mut found = Self::default();
        found.read(list());
        found.pages = Snapshot::by_process(found.pages);
        found
    }

    /// Reads the pages at `paths`. Pages of processes that are just starting or ending are passed over.
    fn read(&mut self, paths: Vec<PathBuf>) {
        for path in paths {
            match Reader::open(&path) {
                Ok(reader) if reader.is_stale() => {}
                Ok(reader) => self.pages.push(reader.snapshot()),
                // The page's process has only just started: it has said nothing yet.
                Err(ReadError::Unfinished { .. }) => {}
                // Only root sees the processes of other users: they are nothing to say to the others.
                Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {}
                // The page's process ended between listing and opening.
                Err(_) if !path.exists() => {}
                Err(error) => self.problems.push(error.to_string()),
            }
        }
    }
}

fn striping() -> Result<Option<StripeCounts>, String> {
    let mut netlink = Netlink::open().map_err(|error| error.to_string())?;
    StripeCounts::read(&mut netlink).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_page_that_is_being_made_is_no_problem_and_a_broken_one_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("new"), []).expect("writes");
        fs::write(path("has-its-length"), [0; 8192]).expect("writes");
        fs::write(path("broken"), [7; 8192]).expect("writes");
        let mut found = HostPages::default();
        found.read(["new", "has-its-length", "ended", "broken"].map(path).to_vec());
        assert!(found.pages.is_empty());
        assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
        assert!(found.problems[0].contains("broken"), "{:?}", found.problems);
    }
}
