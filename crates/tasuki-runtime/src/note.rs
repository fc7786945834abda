//! What the running daemon of a host says of itself.

use serde::{Deserialize, Serialize};
use tasuki_watch::Said;

/// What the running daemon of a host says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonNote {
    /// Its process id.
    pub pid: i32,
    /// The host's name in the cluster.
    pub host: String,
    /// Checksum of the cluster file's text.
    pub cluster: u32,
    /// Its version.
    pub version: String,
}

impl Said for DaemonNote {
    const NAME: &'static str = "tasuki daemon";
    const FILE: &'static str = "/run/tasukid.json";

    fn who(&self) -> (i32, &str) {
        (self.pid, &self.host)
    }
}
