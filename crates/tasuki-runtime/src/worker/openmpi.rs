//! Jobs of an Open MPI: one process on each host, which brings its launcher or its daemon about.

use std::{collections::BTreeMap, ffi::OsString};
use tasuki_control::{Kind, Start};
use tasuki_openmpi::{HOST_COMMAND, Layout};
use tasuki_pmi::JobShape;
use tasuki_shepherd::RankSpec;

/// The ranks that the process of this host stands for, by its number.
pub fn proxies(start: &Start, host: &str) -> BTreeMap<u32, Vec<u32>> {
    let own = start.parts.iter().position(|part| part.host == host);
    match (start.work.kind, own) {
        (Kind::OpenMpi { .. }, Some(own)) => [(own as u32, start.parts[own].ranks.clone())].into(),
        _ => BTreeMap::new(),
    }
}

/// A process on each host.
pub fn shape(start: &Start, name: String) -> JobShape {
    let hosts = start.parts.len() as u32;
    JobShape { name, hosts_of_ranks: (0..hosts).collect(), universe: hosts }
}

/// The command of the process, for the launcher's command.
///
/// # Errors
/// If this program is there no more.
pub fn argv(launcher: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find its own program: {error}"))?;
    if !program.exists() {
        let advice = "start its daemon again: `tasuki apply FILE --runtime`";
        return Err(format!("its program was replaced ({}): {advice}", program.display()));
    }
    Ok([program.into(), HOST_COMMAND.into(), "--".into()].into_iter().chain(launcher).collect())
}

/// The process of the host at a place among the job's.
pub fn process(start: &Start, own: usize) -> RankSpec {
    let hosts = start.parts.iter().map(|part| (part.host.clone(), part.ranks.len() as u32));
    let layout = Layout(hosts.collect());
    let env = vec![(Layout::VARIABLE.into(), layout.to_string().into())];
    RankSpec { rank: own as u32, env, cores: Vec::new() }
}
