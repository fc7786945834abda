//! MPICH and Intel MPI: `mpiexec.hydra`, and settings in the environment, which Hydra passes on to all ranks.
//! Sources: MPICH's Hydra guide and `mpivars`; Intel's Developer Reference; fi_tcp(7); `ucx_info -cf`.

use crate::{
    Device, Environment, Facts, Flavour, Job, LaunchCommand, Mpi, Provider, Setting, Transport,
    job::Argv,
    setting::{self, Binding, Scope},
};

/// The settings of a job, each with its scope and reason.
pub fn settings(mpi: &Mpi, transport: &Transport, facts: &Facts) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    let mut all = Vec::new();
    match (transport, mpi.flavour) {
        (Transport::Tcp, Flavour::Intel) => all.extend(intel_tcp(mpi, facts)),
        (Transport::Tcp, _) => all.extend(mpich_tcp(mpi.device, facts)),
        (Transport::Tasuki(provider), Flavour::Intel) => all.extend(intel_tasuki(mpi, provider, facts.hosts)),
        (Transport::Tasuki(provider), _) => all.extend(mpich_tasuki(mpi.device, provider)),
        (Transport::Shm, flavour) => all.extend(shm(mpi, flavour)),
    }
    if mpi.flavour == Flavour::Intel && facts.binding == Binding::None {
        all.push(set(
            "I_MPI_PIN",
            "off",
            "no binding: hosts that share a machine would all use its first cores",
        ));
    }
    if let (Flavour::Intel, Some(management)) = (mpi.flavour, &facts.management) {
        all.extend(intel_daemons(&management.interface, facts.hosts));
    }
    if facts.oversubscribed {
        let why = "more ranks than cores: a rank that waits gives its core to one that works";
        all.push(match mpi.flavour {
            Flavour::Intel => set("I_MPI_THREAD_YIELD", "2", why),
            _ => set("MPIR_CVAR_POLLS_BEFORE_YIELD", "20", why),
        });
    }
    all
}

fn libfabric_tcp(facts: &Facts) -> [Setting; 2] {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    [
        set("FI_PROVIDER", "tcp", "libfabric's TCP provider, whatever else is installed"),
        set(
            "FI_TCP_IFACE",
            &facts.identity_interface,
            "identity addresses: reachable over every cable and through relays",
        ),
    ]
}

fn intel_root(mpi: &Mpi) -> Setting {
    Setting::new(
        Scope::Variable,
        "I_MPI_ROOT",
        mpi.prefix().to_string_lossy(),
        "where Intel MPI finds its own libfabric and tuning tables",
    )
}

fn intel_tasuki(mpi: &Mpi, provider: &Provider, hosts: usize) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    let mut all = vec![
        intel_root(mpi),
        match hosts {
            1 => set(
                "I_MPI_FABRICS",
                "shm:ofi",
                "all ranks on one host: Intel MPI's own shared memory, and the collectives made for it",
            ),
            _ => set(
                "I_MPI_FABRICS",
                "ofi",
                "everything through libfabric, inside a host too: in shared memory of their own ranks do not \
                 learn of a death",
            ),
        },
        set(
            "I_MPI_OFI_PROVIDER",
            Provider::NAME,
            "Intel MPI's own choice of provider goes before FI_PROVIDER",
        ),
    ];
    all.extend(setting::provider(provider));
    all
}

/// Settings for libfabric's own shared memory. An MPICH that was also built for UCX must be told which of the
/// two to use.
fn shm(mpi: &Mpi, flavour: Flavour) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    let mut all = vec![set("FI_PROVIDER", "shm", "libfabric's shared memory, whatever else is installed")];
    match flavour {
        Flavour::Intel => all.extend([
            intel_root(mpi),
            set("I_MPI_FABRICS", "ofi", "through libfabric, not Intel MPI's own shared memory"),
            set("I_MPI_OFI_PROVIDER", "shm", "Intel MPI's own choice of provider goes before FI_PROVIDER"),
        ]),
        _ if mpi.device.ucx => {
            all.push(set("MPIR_CVAR_CH4_NETMOD", "ofi", "built for both: libfabric instead of UCX"));
        }
        _ => {}
    }
    all
}

fn intel_tcp(mpi: &Mpi, facts: &Facts) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    let mut all = vec![
        intel_root(mpi),
        set("I_MPI_FABRICS", "shm:ofi", "shared memory within a host, libfabric between hosts"),
        set("I_MPI_OFI_PROVIDER", "tcp", "Intel MPI's own choice of provider goes before FI_PROVIDER"),
    ];
    all.extend(libfabric_tcp(facts));
    all
}

/// Settings by which Intel's proxies connect back to the address of this interface instead of the launching
/// host's name (`-localhost` has no effect). Proxies that start further proxies would pass the same interface
/// name on, which on their hosts may be another interface's: a branch count of all hosts makes mpiexec start
/// all of them itself.
fn intel_daemons(interface: &str, hosts: usize) -> [Setting; 2] {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    [
        set(
            "I_MPI_HYDRA_IFACE",
            interface,
            "daemons talk over the management network, and leave the cables alone",
        ),
        set("I_MPI_HYDRA_BRANCH_COUNT", &hosts.max(1).to_string(), "mpiexec itself starts every daemon"),
    ]
}

fn mpich_tcp(device: Device, facts: &Facts) -> Vec<Setting> {
    let set = |name, value: &str, why| Setting::new(Scope::Variable, name, value, why);
    if device.ucx && !device.ofi {
        return vec![
            set("UCX_TLS", "tcp,sm,self", "TCP between hosts, shared memory within, loopback to oneself"),
            set(
                "UCX_NET_DEVICES",
                &facts.identity_interface,
                "identity addresses: reachable over every cable and through relays",
            ),
            set(
                "UCX_TCP_BRIDGE_ENABLE",
                "y",
                "the identity interface may be a bridge without ports, which newer UCX passes over",
            ),
            set(
                "UCX_WARN_UNUSED_ENV_VARS",
                "n",
                "older UCX does not know the setting above, and would say so on every rank",
            ),
        ];
    }
    let mut all = Vec::new();
    if device.ucx {
        let why = "built for both: UCX, its default, mixes all interfaces or finds no way between hosts";
        all.push(set("MPIR_CVAR_CH4_NETMOD", "ofi", why));
    }
    all.extend(libfabric_tcp(facts));
    all
}

fn mpich_tasuki(device: Device, provider: &Provider) -> Vec<Setting> {
    let mut all = Vec::new();
    if device.ucx {
        let why = "built for both: libfabric, through which Tasuki is reached, instead of UCX";
        all.push(Setting::new(Scope::Variable, "MPIR_CVAR_CH4_NETMOD", "ofi", why));
        all.push(setting::no_ucx_hooks());
    }
    all.extend(setting::provider(provider));
    all
}

/// The command that runs `job`.
pub fn command(mpi: &Mpi, job: &Job) -> LaunchCommand {
    let mut argv = Argv::new(&mpi.launcher);
    argv.extend(["-launcher", "ssh"]);
    if let Some(agent) = &job.facts.agent {
        argv.extend(["-launcher-exec", agent]);
    }
    match mpi.flavour {
        Flavour::Intel => intel_hosts(job, &mut argv),
        _ => mpich_hosts(job, &mut argv),
    }
    argv.extend(["-n", &job.ranks.to_string()]);
    if let Some(folder) = &job.folder {
        argv.push("-wdir");
        argv.push(folder);
    }
    argv.program(&job.argv);
    let env = job.exports_with(&settings(mpi, &job.transport, &facts_of(job)));
    LaunchCommand { argv: argv.into(), env }
}

/// What every rank must have in its environment if no `mpiexec` starts it: the same settings, without those
/// of Hydra's own daemons.
pub fn rank_environment(mpi: &Mpi, job: &Job) -> Environment {
    let facts = Facts { management: None, ..facts_of(job) };
    job.exports_with(&settings(mpi, &job.transport, &facts))
}

/// The job's facts, with the number of hosts that have ranks: a cluster's job may have all on one host.
fn facts_of(job: &Job) -> Facts {
    let mut used = job.hosts_of_ranks();
    used.sort_unstable();
    used.dedup();
    Facts { hosts: used.len(), ..job.facts.clone() }
}

/// Adds one entry `host:ranks` for each run of successive ranks on a host; a host may occur again.
fn mpich_hosts(job: &Job, argv: &mut Argv) {
    if let Some(management) = &job.facts.management {
        // Proxies connect back to this address instead of the launching host's name.
        argv.extend(["-localhost", &management.address.to_string()]);
    }
    let hosts: Vec<_> = job.runs().iter().map(|(host, ranks)| format!("{host}:{ranks}")).collect();
    argv.extend(["-hosts", &hosts.join(",")]);
}

/// Adds one entry per rank, and one rank per entry: Intel MPI fills hosts by their cores, and ignores numbers
/// in -hosts.
fn intel_hosts(job: &Job, argv: &mut Argv) {
    let hosts: Vec<_> =
        job.runs().into_iter().flat_map(|(host, ranks)| (0..ranks).map(move |_| host)).collect();
    argv.extend(["-ppn", "1", "-hosts", &hosts.join(",")]);
}
