//! Open MPI 5: `mpirun` is a front end of PRRTE's `prterun`, which has parameters of its own.
//! Sources: Open MPI 5.0's documentation ("Launching MPI applications"), `prte_info --all`.

use crate::{
    Facts, Job, LaunchCommand, Mpi, Setting, Transport, one_sided, openmpi4, repairs, setting::Scope,
};

/// The settings of a job, each with its scope and reason.
pub fn settings(mpi: &Mpi, transport: &Transport, facts: &Facts) -> Vec<Setting> {
    let daemon = |name, value: &str, why| Setting::new(Scope::Prrte, name, value, why);
    let mut all = Vec::new();
    match transport {
        Transport::Tcp => all.extend(openmpi4::tcp(facts, "sm")),
        Transport::Tasuki(provider) => {
            all.extend(openmpi4::libfabric(provider, facts, "sm"));
            all.extend(repairs::setting(mpi, provider));
        }
        // `Job::command` refuses this transport.
        Transport::Shm => {}
    }
    if facts.oversubscribed {
        all.push(openmpi4::yielding());
    }
    all.push(daemon("plm", "ssh", "start daemons through the agent, inside a batch system's allocation too"));
    if let Some(agent) = &facts.agent {
        all.push(daemon("plm_ssh_agent", agent, "the command that reaches a host"));
    }
    all.push(daemon(
        "plm_ssh_no_tree_spawn",
        "1",
        "mpirun itself reaches every host: hosts need no way to reach each other",
    ));
    if let Some(management) = &facts.management {
        let network = management.network.to_string();
        all.push(daemon(
            "prte_if_include",
            &network,
            "daemons talk over the management network, and leave the cables alone",
        ));
    }
    all
}

/// The settings of a job whose program is known.
fn settings_of(mpi: &Mpi, job: &Job) -> Vec<Setting> {
    let mut all = settings(mpi, &job.transport, &job.facts);
    if let Some(of_windows) = one_sided::settings(mpi, job) {
        all.retain(|setting| !matches!(setting.name, "btl" | "btl_tcp_if_include"));
        all.extend(of_windows);
    }
    all
}

/// The command that runs `job`.
pub fn command(mpi: &Mpi, job: &Job) -> LaunchCommand {
    let settings = settings_of(mpi, job);
    openmpi4::command_with(mpi, job, &settings, openmpi4::placement_options)
}

/// The command that runs `job` on hosts that are told to it later, where the runtime starts the daemons.
pub fn resident(mpi: &Mpi, job: &Job) -> LaunchCommand {
    let mut settings = settings_of(mpi, job);
    let identity = &job.facts.identity_interface;
    settings.push(Setting::new(Scope::Prrte, "prte_if_include", identity, openmpi4::IDENTITY_ONLY));
    openmpi4::command_with(mpi, job, &settings, openmpi4::rank_options)
}
