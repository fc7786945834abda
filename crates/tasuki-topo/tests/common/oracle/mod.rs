//! Programs that others wrote, as `scripts/oracles` unpacks them below TASUKI_PEERS (default: target/peers).

pub mod opensm;
pub mod simgrid;

use std::path::PathBuf;

/// Folder of an oracle, if it is there. A missing oracle is reported; in CI (TASUKI_NO_SKIP) it is a failure,
/// unless only the full tests bring it (`only_full`).
pub fn folder(name: &str, test: &str, only_full: bool) -> Option<PathBuf> {
    let peers = std::env::var_os("TASUKI_PEERS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/peers"), PathBuf::from);
    let folder = peers.join(name);
    if folder.join(".oracle").is_file() {
        return Some(folder);
    }
    let how = if only_full { "scripts/oracles --full" } else { "scripts/oracles" };
    let must = std::env::var_os("TASUKI_NO_SKIP").is_some() && !only_full;
    assert!(!must, "{test}: {} is missing: {how}", folder.display());
    eprintln!("SKIPPED {test}: {} is missing: {how}", folder.display());
    None
}
