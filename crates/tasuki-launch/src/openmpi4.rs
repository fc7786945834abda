//! Open MPI 4: `mpirun` with its daemons `orted`, all set by MCA parameters. Sources: mpirun(1) and
//! `ompi_info --all` of 4.1.

use crate::{
    Environment, Facts, Job, LaunchCommand, Mpi, Provider, Setting, Transport, front,
    job::Argv,
    libfabric::forgets_answers,
    repairs,
    setting::{self, Binding, Scope},
};

/// The settings of a job, each with its scope and reason. Parameters on the command line or in the
/// environment override those of a distribution's `openmpi-mca-params.conf`.
pub fn settings(mpi: &Mpi, transport: &Transport, facts: &Facts) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::OpenMpi, name, value, why);
    let mut all = Vec::new();
    match transport {
        Transport::Tcp => all.extend(tcp(facts, "vader")),
        // `Job::command` refuses this transport.
        Transport::Shm => {}
        Transport::Tasuki(provider) => {
            all.extend(libfabric(provider, facts, "vader"));
            all.extend(front::setting(mpi, provider));
            all.extend(repairs::setting(mpi, provider));
            all.extend(answers(mpi));
        }
    }
    if facts.oversubscribed {
        all.push(yielding());
    }
    all.push(set("plm", "rsh", "start daemons through the agent, inside a batch system's allocation too"));
    if let Some(agent) = &facts.agent {
        all.push(set("plm_rsh_agent", agent, "the command that reaches a host"));
    }
    all.push(set(
        "plm_rsh_no_tree_spawn",
        "1",
        "mpirun itself reaches every host: hosts need no way to reach each other",
    ));
    if let Some(management) = &facts.management {
        let network = management.network.to_string();
        all.push(set(
            "oob_tcp_if_include",
            &network,
            "daemons talk over the management network, and leave the cables alone",
        ));
    }
    all
}

/// The settings of Open MPI's own TCP transport. Versions 4 and 5 differ only in the name of shared memory.
pub fn tcp(facts: &Facts, shared_memory: &str) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::OpenMpi, name, value, why);
    vec![
        set(
            "pml",
            "ob1",
            "the message layer that uses the transports below; UCX and libfabric would choose interfaces on \
             their own",
        ),
        set(
            "btl",
            &format!("tcp,{shared_memory},self"),
            "TCP between hosts, shared memory within, loopback to oneself",
        ),
        set(
            "btl_tcp_if_include",
            &facts.identity_interface,
            "identity addresses alone: they are reachable over every cable and through relays; with one \
             address per cable Open MPI pairs addresses that have no route to each other",
        ),
    ]
}

/// The settings that send everything through libfabric to Tasuki. Versions 4 and 5 differ only in the name of
/// shared memory.
pub fn libfabric(provider: &Provider, facts: &Facts, shared_memory: &str) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::OpenMpi, name, value, why);
    let mut all = vec![
        set("pml", "cm", "the message layer that hands matching to libfabric, inside a host too"),
        set("mtl", "ofi", "libfabric; a distribution's system parameters may switch it off"),
        set("osc", "^ucx", "one-sided operations are not for UCX, which would choose interfaces on its own"),
        set(
            "btl",
            &format!("tcp,{shared_memory},self"),
            "where one-sided operations do not use the message layer: no libfabric of their own beside it",
        ),
        set("btl_tcp_if_include", &facts.identity_interface, "identity addresses alone, as for TCP"),
    ];
    all.extend(setting::provider(provider));
    all
}

/// The setting that makes the provider give the answers that this MPI forgets. The bits are those of its tags
/// for providers with remote completion data (`ompi/mca/mtl/ofi/mtl_ofi_types.h` of 4.1).
fn answers(mpi: &Mpi) -> Option<Setting> {
    let set = Setting::new(
        Scope::Variable,
        "TASUKI_ANSWER_CLAIMED",
        "0x100000000:0x200000000",
        "a synchronous send that is received by MPI_Mrecv would wait for ever: this Open MPI forgets the \
         answer (open-mpi/ompi#11327)",
    );
    forgets_answers(&mpi.library).then_some(set)
}

/// The wait policy of ranks that outnumber their cores.
pub fn yielding() -> Setting {
    Setting::new(
        Scope::OpenMpi,
        "mpi_yield_when_idle",
        "1",
        "more ranks than cores: a rank that waits gives its core to one that works",
    )
}

/// Adds the options that versions 4 and 5 share: where ranks run, and which variables they get.
pub fn placement_options(job: &Job, env: &Environment, argv: &mut Argv) {
    // The numbers are exactly those of the ranks, so that Open MPI never sees more ranks than slots.
    let hosts: Vec<_> = job.ranks_per_host().iter().map(|(host, ranks)| format!("{host}:{ranks}")).collect();
    argv.extend(["--host", &hosts.join(",")]);
    rank_options(job, env, argv);
}

/// As [`placement_options`], without the list of hosts.
pub fn rank_options(job: &Job, env: &Environment, argv: &mut Argv) {
    if job.facts.binding == Binding::None {
        argv.extend(["--bind-to", "none"]);
    }
    argv.extend(["--map-by", if job.is_round_robin() { "node" } else { "slot" }]);
    argv.extend(["-np", &job.ranks.to_string()]);
    if let Some(folder) = &job.folder {
        argv.push("--wdir");
        argv.push(folder);
    }
    // By itself Open MPI passes on only OMPI_*.
    for (name, _) in env {
        argv.push("-x");
        argv.push(name);
    }
}

/// The command that runs `job`.
pub fn command(mpi: &Mpi, job: &Job) -> LaunchCommand {
    command_with(mpi, job, &settings(mpi, &job.transport, &job.facts), placement_options)
}

/// The command that runs `job` on hosts that are told to it later, where the runtime starts the daemons.
pub fn resident(mpi: &Mpi, job: &Job) -> LaunchCommand {
    let mut settings = settings(mpi, &job.transport, &job.facts);
    settings.push(Setting::new(
        Scope::OpenMpi,
        "oob_tcp_if_include",
        &job.facts.identity_interface,
        IDENTITY_ONLY,
    ));
    command_with(mpi, job, &settings, rank_options)
}

/// Why daemons that the runtime starts talk over identity addresses.
pub const IDENTITY_ONLY: &str =
    "daemons talk over identity addresses, which every host of a cluster has that was set up";

/// The command that runs `job`, with the options that `options` adds.
pub fn command_with(
    mpi: &Mpi,
    job: &Job,
    settings: &[Setting],
    options: impl Fn(&Job, &Environment, &mut Argv),
) -> LaunchCommand {
    let mut argv = Argv::new(&mpi.launcher);
    if job.as_root {
        argv.push("--allow-run-as-root");
    }
    argv.settings(settings, &job.env);
    // `-x NAME` takes the value from mpirun's own environment, so that no value has to be quoted.
    let env = job.exports_with(settings);
    options(job, &env, &mut argv);
    argv.program(&job.argv);
    LaunchCommand { argv: argv.into(), env }
}
