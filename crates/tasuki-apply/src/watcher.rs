//! Starting and ending `tasuki watch` on this host.

use crate::ApplyError;
use tasuki_cluster::Cluster;
use tasuki_host::{WATCH_UNIT, daemon};
use tasuki_process::text_file;

/// A checksum of a cluster's text, by which a running `tasuki watch` says which cluster it watches.
pub fn cluster_checksum(cluster: &Cluster) -> u32 {
    crc32c::crc32c(cluster.to_toml().as_bytes())
}

/// Whether a watch of this very cluster runs and has changed no route.
pub fn is_undisturbed(cluster: &Cluster) -> bool {
    let is = |note: tasuki_watch::Note| {
        note.cluster == cluster_checksum(cluster) && note.detours.is_empty() && !note.relays
    };
    tasuki_watch::note().is_some_and(is)
}

/// Starts the watch of this host, unless it runs.
pub fn start(cluster: &Cluster, name: &str) -> Result<(), ApplyError> {
    if tasuki_watch::note().is_some() {
        return Ok(());
    }
    let file = text_file(&cluster.to_toml())?;
    let argv = ["watch", "-", "--background", "--host", name];
    daemon::start(WATCH_UNIT, &argv, file).map_err(ApplyError::WatchStart)
}

/// Ends the watch of this host.
pub fn end() -> Result<(), ApplyError> {
    daemon::systemctl("stop", WATCH_UNIT);
    tasuki_watch::stop()?;
    Ok(())
}
