//! Starting and ending `tasuki watch` on this host.

use crate::ApplyError;
use std::path::Path;
use tasuki_cluster::Cluster;
use tasuki_host::{Change, Key, WATCH_UNIT, daemon};
use tasuki_process::text_file;
use tasuki_watch::Note;

/// A checksum of a cluster's text, by which a running `tasuki watch` says which cluster it watches.
pub fn cluster_checksum(cluster: &Cluster) -> u32 {
    crc32c::crc32c(cluster.to_toml().as_bytes())
}

/// Whether a watch of this very cluster runs and has changed no route.
pub fn is_undisturbed(cluster: &Cluster) -> bool {
    let is = |note: Note| note.cluster == cluster_checksum(cluster) && !leads_around(&note);
    tasuki_watch::note().is_some_and(is)
}

fn leads_around(note: &Note) -> bool {
    !note.detours.is_empty() || note.relays
}

/// Takes out of the differences between a host and what it is to have those that the running watch has made
/// to lead packets around dead rails, and says so for people. `cluster`: its checksum, if differences from
/// it are meant and not from what was set.
pub fn take_detours(changes: &mut Vec<Change>, cluster: Option<u32>) -> Option<String> {
    let note = tasuki_watch::note()?;
    if !leads_around(&note) || cluster.is_some_and(|cluster| cluster != note.cluster) {
        return None;
    }
    let is_its = |change: &Change| match change.key {
        Key::Route { .. } => change.may_be_of_watch() && !note.detours.is_empty(),
        _ => change.may_be_of_watch() && note.relays,
    };
    let before = changes.len();
    changes.retain(|change| !is_its(change));
    let taken = before - changes.len();
    (taken > 0).then(|| {
        let dead = note.dead.join(", ");
        format!(
            "tasuki watch has changed {taken} of its routes and settings, to lead packets around \
             what is dead: {dead}; it takes them back when that lives again (`tasuki watch --status`)"
        )
    })
}

/// Starts the watch of this host, unless it runs. `folder`: that of the record.
pub fn start(cluster: &Cluster, name: &str, folder: &Path) -> Result<(), ApplyError> {
    if tasuki_watch::note().is_some() {
        return Ok(());
    }
    let file = text_file(&cluster.to_toml())?;
    let folder = std::path::absolute(folder)?.display().to_string();
    let argv = ["watch", "-", "--background", "--host", name, "--state-dir", &folder];
    daemon::start(WATCH_UNIT, &argv, file).map_err(ApplyError::WatchStart)
}

/// Ends the watch of this host.
pub fn end() -> Result<(), ApplyError> {
    daemon::systemctl("stop", WATCH_UNIT);
    tasuki_watch::stop()?;
    Ok(())
}
