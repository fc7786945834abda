//! The cluster file of `tasuki up`: written, or used as it is if it describes the same cables.

use std::path::Path;
use tasuki_cluster::Cluster;
use tasuki_discover::{Description, Kind};
use tasuki_plan::write_file;
use tasuki_terminal::Failure;
use tasuki_up::same_cabling;

/// The cluster that the hosts are set up by, and what became of the file. `asked` is the number of hosts that
/// the person has named.
pub fn settle(
    found: &Description,
    asked: usize,
    file: &Path,
    force: bool,
) -> Result<(Cluster, String), Failure> {
    let missing = asked.saturating_sub(found.cluster.hosts.len());
    if missing > 0 {
        let is_why = |kind: Kind| matches!(kind, Kind::Unreached | Kind::Apart);
        let lines =
            found.findings.iter().filter(|finding| is_why(finding.kind)).map(|finding| finding.line());
        let why: Vec<_> = lines.collect();
        return Err(Failure::new(format!(
            "{}\nnothing was set up: `tasuki discover` takes hosts that are cabled, `up` all or none",
            why.join("\n")
        )));
    }
    if found.cluster.cables.is_empty() {
        return Err(Failure::new("no cable between hosts was found, so nothing was set up"));
    }
    let shown = file.display();
    if file.is_file() {
        let known = Cluster::load(file);
        if let Some(known) = known.ok().filter(|known| same_cabling(known, &found.cluster)) {
            return Ok((known, format!("{shown} has the same cables, and is used as it is")));
        }
        if !force {
            return Err(Failure::new(format!(
                "{shown} is there already and describes other cables; `tasuki discover` with \
                 --output {shown} shows what differs, --force writes over it; nothing was set up"
            )));
        }
    }
    let cluster = Cluster::parse(&found.text, Some(file))
        .map_err(|error| Failure::new(format!("no cluster file follows from this: {error}")))?;
    write_file(file, &found.text)?;
    Ok((cluster, format!("Written to {shown}")))
}
