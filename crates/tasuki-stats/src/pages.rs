//! What one host has to say.

use serde::{Deserialize, Serialize};
use tasuki_ring::stats_page::{Reader, Snapshot, list};
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
        let mut found = Self::default();
        for path in list() {
            match Reader::open(&path) {
                Ok(reader) if reader.is_stale() => {}
                Ok(reader) => found.pages.push(reader.snapshot()),
                // The page's process ended between listing and opening.
                Err(_) if !path.exists() => {}
                Err(error) => found.problems.push(error.to_string()),
            }
        }
        match striping() {
            Ok(striping) => found.striping = striping,
            Err(problem) => found.striping_problem = Some(problem),
        }
        found
    }
}

fn striping() -> Result<Option<StripeCounts>, String> {
    let mut netlink = Netlink::open().map_err(|error| error.to_string())?;
    StripeCounts::read(&mut netlink).map_err(|error| error.to_string())
}
