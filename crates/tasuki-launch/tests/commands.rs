//! What each launcher is told, compared with its documentation: mpirun(1) of Open MPI 4.1, "Launching MPI
//! applications" of Open MPI 5.0, MPICH's Hydra guide, Intel MPI's Developer Reference, fi_tcp(7).

mod common;

use common::{facts, job, mpi};
use std::ffi::OsString;
use tasuki_launch::{
    Binding, Device, Flavour, Job, JobError, JobHost, Mpi, Placement, Provider, Transport, environment,
};

fn open4() -> Mpi {
    mpi(Flavour::OpenMpi4, "4.1.4", "/usr/bin/mpirun.openmpi")
}

fn open5() -> Mpi {
    mpi(Flavour::OpenMpi5, "5.0.11", "/opt/ompi/bin/mpirun")
}

fn mpich() -> Mpi {
    mpi(Flavour::Mpich, "4.3.2", "/opt/mpich/bin/mpiexec.hydra")
}

fn intel() -> Mpi {
    mpi(Flavour::Intel, "2021.18.1", "/opt/intel/bin/mpiexec.hydra")
}

fn words(job: &Job, mpi: &Mpi) -> Vec<String> {
    let command = job.command(mpi).unwrap();
    command.argv.into_iter().map(|word| word.into_string().unwrap()).collect()
}

/// The argument after each occurrence of `flag`.
fn after(words: &[String], flag: &str) -> Vec<String> {
    words.windows(2).filter(|pair| pair[0] == flag).map(|pair| pair[1].clone()).collect()
}

fn mca(words: &[String], flag: &str, name: &str) -> Option<String> {
    words.windows(3).find(|w| w[0] == flag && w[1] == name).map(|w| w[2].clone())
}

fn variable(job: &Job, mpi: &Mpi, name: &str) -> Option<String> {
    let env = job.command(mpi).unwrap().env;
    let found: Vec<_> = env.iter().filter(|(key, _)| key == name).collect();
    assert!(found.len() <= 1, "{name} is set twice");
    found.first().map(|(_, value)| value.to_string_lossy().into_owned())
}

#[test]
fn open_mpi_4_uses_the_identity_interface_for_payload_and_the_management_network_for_daemons() {
    let words = words(&job(4), &open4());
    assert_eq!(words[0], "/usr/bin/mpirun.openmpi");
    let mca = |name| mca(&words, "--mca", name);
    assert_eq!(mca("pml").as_deref(), Some("ob1"));
    assert_eq!(mca("btl").as_deref(), Some("tcp,vader,self"));
    assert_eq!(mca("btl_tcp_if_include").as_deref(), Some("tasuki0"));
    assert_eq!(mca("oob_tcp_if_include").as_deref(), Some("198.18.0.0/16"));
    assert_eq!(mca("plm_rsh_agent").as_deref(), Some("/run/tasuki/bin/tasuki-agent"));
    assert_eq!(after(&words, "--host"), ["n1:1,n2:1,n3:1,n4:1"]);
    assert_eq!(after(&words, "-np"), ["4"]);
    assert_eq!(words[words.len() - 2..], ["/bin/app", "x"]);
}

// PRRTE has taken over the parameters of orte and of the daemons under new names; shared memory is called
// `sm` again.
#[test]
fn open_mpi_5_gives_daemons_their_parameters_as_prtemca() {
    let words = words(&job(4), &open5());
    assert_eq!(mca(&words, "--mca", "btl").as_deref(), Some("tcp,sm,self"));
    assert_eq!(mca(&words, "--prtemca", "plm_ssh_agent").as_deref(), Some("/run/tasuki/bin/tasuki-agent"));
    assert_eq!(mca(&words, "--prtemca", "prte_if_include").as_deref(), Some("198.18.0.0/16"));
    assert!(
        mca(&words, "--mca", "oob_tcp_if_include").is_none()
            && mca(&words, "--mca", "plm_rsh_agent").is_none()
    );
}

#[test]
fn open_mpi_runs_as_root_only_when_that_is_meant() {
    for mpi in [open4(), open5()] {
        let has = |job: &Job| words(job, &mpi).contains(&"--allow-run-as-root".to_owned());
        assert!(!has(&job(2)));
        assert!(has(&Job { as_root: true, ..job(2) }));
    }
}

// Open MPI passes a variable on only by -x or if its name begins with OMPI_; Hydra passes all of mpiexec's
// (-genvall).
#[test]
fn variables_of_the_user_reach_ranks_and_the_last_of_two_counts() {
    let env = vec![("A".into(), "1".into()), ("B".into(), "x y".into()), ("A".into(), "2".into())];
    let job = Job { env, ..job(2) };
    for mpi in [open4(), open5(), mpich(), intel()] {
        assert_eq!(variable(&job, &mpi, "A").as_deref(), Some("2"), "{}", mpi.id());
        assert_eq!(variable(&job, &mpi, "B").as_deref(), Some("x y"), "{}", mpi.id());
    }
    assert_eq!(after(&words(&job, &open4()), "-x"), ["B", "A"]);
}

#[test]
fn what_the_user_sets_goes_before_our_settings() {
    let env: Vec<(OsString, OsString)> =
        vec![("OMPI_MCA_btl".into(), "tcp,self".into()), ("FI_PROVIDER".into(), "sockets".into())];
    let job = Job { env, ..job(2) };
    assert_eq!(mca(&words(&job, &open4()), "--mca", "btl"), None, "--mca would go before the variable");
    assert_eq!(variable(&job, &mpich(), "FI_PROVIDER").as_deref(), Some("sockets"));
}

#[test]
fn ranks_are_dealt_evenly_or_fill_hosts() {
    let by_slot = Job { placement: Placement::BySlot, ..job(3) };
    for mpi in [open4(), open5()] {
        assert_eq!(after(&words(&job(6), &mpi), "--host"), ["n1:2,n2:2,n3:1,n4:1"]);
        assert_eq!(after(&words(&job(6), &mpi), "--map-by"), ["node"]);
        assert_eq!(after(&words(&by_slot, &mpi), "--host"), ["n1:2,n2:1"]);
        assert_eq!(after(&words(&by_slot, &mpi), "--map-by"), ["slot"]);
    }
    // A host's name may occur again in Hydra's list, which is in the order of ranks.
    assert_eq!(after(&words(&job(6), &mpich()), "-hosts"), ["n1:1,n2:1,n3:1,n4:1,n1:1,n2:1"]);
    assert_eq!(after(&words(&by_slot, &mpich()), "-hosts"), ["n1:2,n2:1"]);
    // Intel's -hosts takes names only; -ppn says how many ranks each of them gets.
    assert_eq!(after(&words(&by_slot, &intel()), "-hosts"), ["n1,n1,n2"]);
    assert_eq!(after(&words(&by_slot, &intel()), "-ppn"), ["1"]);
}

#[test]
fn more_ranks_than_slots_are_no_error() {
    for mpi in [open4(), open5()] {
        assert_eq!(
            after(&words(&job(16), &mpi), "--host"),
            ["n1:4,n2:4,n3:4,n4:4"],
            "slots are what is wanted"
        );
    }
}

#[test]
fn ranks_that_outnumber_cores_yield() {
    let mut job = job(16);
    let yields = |job: &Job| {
        let open =
            [open4(), open5()].map(|mpi| mca(&words(job, &mpi), "--mca", "mpi_yield_when_idle").is_some());
        let hydra = [
            variable(job, &mpich(), "MPIR_CVAR_POLLS_BEFORE_YIELD").is_some(),
            variable(job, &intel(), "I_MPI_THREAD_YIELD").is_some(),
        ];
        [open, hydra].concat()
    };
    assert_eq!(yields(&job), [false; 4]);
    job.facts.oversubscribed = true;
    assert_eq!(yields(&job), [true; 4]);
}

#[test]
fn hosts_that_share_a_machine_are_not_bound() {
    let mut job = job(4);
    assert_eq!(after(&words(&job, &open4()), "--bind-to"), ["none"]);
    assert_eq!(variable(&job, &intel(), "I_MPI_PIN").as_deref(), Some("off"));
    job.facts.binding = Binding::Library;
    assert!(after(&words(&job, &open4()), "--bind-to").is_empty());
    assert_eq!(variable(&job, &intel(), "I_MPI_PIN"), None);
}

#[test]
fn mpich_uses_libfabric_where_it_has_it_and_ucx_where_that_is_all() {
    let job = job(4);
    let with = |ofi, ucx| Mpi { device: Device { ofi, ucx }, ..mpich() };
    assert_eq!(variable(&job, &with(true, true), "MPIR_CVAR_CH4_NETMOD").as_deref(), Some("ofi"));
    assert_eq!(variable(&job, &with(true, true), "FI_TCP_IFACE").as_deref(), Some("tasuki0"));
    assert_eq!(variable(&job, &with(true, false), "MPIR_CVAR_CH4_NETMOD"), None);
    assert_eq!(variable(&job, &with(true, false), "FI_PROVIDER").as_deref(), Some("tcp"));
    assert_eq!(variable(&job, &with(false, true), "UCX_NET_DEVICES").as_deref(), Some("tasuki0"));
    assert_eq!(variable(&job, &with(false, true), "FI_PROVIDER"), None);
}

#[test]
fn hydra_starts_proxies_through_the_agent_and_over_the_management_network() {
    let mpich = words(&job(4), &mpich());
    assert_eq!(
        (after(&mpich, "-launcher"), after(&mpich, "-launcher-exec")),
        (vec!["ssh".into()], vec!["/run/tasuki/bin/tasuki-agent".into()])
    );
    assert_eq!(after(&mpich, "-localhost"), ["198.18.0.1"]);
    assert_eq!(variable(&job(4), &intel(), "I_MPI_HYDRA_IFACE").as_deref(), Some("mgmt0"));
    assert_eq!(variable(&job(4), &intel(), "I_MPI_HYDRA_BRANCH_COUNT").as_deref(), Some("4"));
    assert_eq!(variable(&job(4), &intel(), "I_MPI_ROOT").as_deref(), Some("/opt/intel"));
}

#[test]
fn real_machines_are_reached_with_the_launchers_own_ssh() {
    let mut job = job(4);
    (job.facts.agent, job.facts.management) = (None, None);
    for mpi in [open4(), open5(), mpich(), intel()] {
        let text = job.command(&mpi).unwrap().to_shell();
        assert!(!text.contains("agent") && !text.contains("198.18"), "{text}");
        assert!(text.contains("tasuki0"), "{text}");
    }
}

#[test]
fn environment_is_the_same_as_what_a_launch_passes() {
    for mpi in [open4(), open5(), mpich(), intel()] {
        let command = job(4).command(&mpi).unwrap();
        let text = command.to_shell();
        for setting in environment(&mpi, &Transport::Tcp, &facts()) {
            let on_line = text.contains(&format!(" {} {} ", setting.name, setting.value));
            let in_env = text.contains(&format!("{}={}", setting.variable(), setting.value));
            assert!(on_line || in_env, "{} is missing in {text}", setting.variable());
            assert!(!setting.why.is_empty());
        }
    }
    let names: Vec<_> =
        environment(&open5(), &Transport::Tcp, &facts()).iter().map(|s| s.variable()).collect();
    assert!(
        names.contains(&"OMPI_MCA_btl_tcp_if_include".into())
            && names.contains(&"PRTE_MCA_prte_if_include".into())
    );
}

#[test]
fn what_a_launcher_would_misread_is_refused() {
    let error = |job: Job| job.command(&open4()).unwrap_err();
    assert_eq!(error(job(0)), JobError::Empty);
    assert_eq!(error(Job { argv: vec![], ..job(1) }), JobError::Empty);
    assert_eq!(error(Job { hosts: vec![], ..job(1) }), JobError::NoSlots);
    for name in ["", "a,b", "a:2", "-x", "a b"] {
        let hosts = vec![JobHost { name: name.into(), slots: 1 }];
        assert_eq!(error(Job { hosts, ..job(1) }), JobError::HostName(name.into()));
    }
    let mut spaced = job(1);
    spaced.facts.agent = Some("/path with space/agent".into());
    assert!(matches!(error(spaced), JobError::Agent(_)));
    assert!(matches!(error(Job { env: vec![("A=B".into(), "".into())], ..job(1) }), JobError::Variable(_)));
}

// POSIX shell quoting: inside '...' every character stands for itself.
#[test]
fn a_command_can_be_pasted_into_a_shell() {
    let argv = vec!["/bin/app".into(), "it's $HOME".into(), "".into()];
    let text = Job { argv, ..job(1) }.command(&mpich()).unwrap().to_shell();
    assert!(text.ends_with(r"/bin/app 'it'\''s $HOME' ''"), "{text}");
}

fn tasuki() -> Transport {
    Transport::Tasuki(Provider {
        folder: "/opt/tasuki".into(),
        library: "/opt/tasuki/libtasuki-fi.so".into(),
    })
}

/// Open MPI 4 and 5 with libfabric's component built in, made here because the machine of the tests need not
/// have them.
fn open_with_libfabric(folder: &std::path::Path) -> [Mpi; 2] {
    let library = folder.join("libmpi.so.40");
    std::fs::write(&library, "mca_mtl_ofi_component").unwrap();
    [open4(), open5()].map(|mpi| Mpi { library: library.clone(), ..mpi })
}

// fi_provider(7): FI_PROVIDER_PATH, FI_PROVIDER. Open MPI's FAQ: `--mca pml cm --mca mtl ofi` for libfabric.
#[test]
fn tasuki_is_loaded_by_the_libfabric_of_every_mpi_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let [four, five] = open_with_libfabric(folder.path());
    let job = Job { transport: tasuki(), ..job(4) };
    for mpi in [&four, &five, &mpich(), &intel()] {
        assert_eq!(variable(&job, mpi, "FI_PROVIDER").as_deref(), Some("tasuki"), "{}", mpi.id());
        assert_eq!(variable(&job, mpi, "FI_PROVIDER_PATH").as_deref(), Some("/opt/tasuki"), "{}", mpi.id());
        assert_eq!(variable(&job, mpi, "FI_TCP_IFACE"), None, "{}", mpi.id());
    }
    for mpi in [&four, &five] {
        let words = words(&job, mpi);
        assert_eq!(mca(&words, "--mca", "pml").as_deref(), Some("cm"));
        assert_eq!(mca(&words, "--mca", "mtl").as_deref(), Some("ofi"));
        let passed = after(&words, "-x");
        assert_eq!(passed[..2], ["FI_PROVIDER", "FI_PROVIDER_PATH"], "passed to other hosts");
    }
    assert_eq!(after(&words(&job, &four), "-x").last().map(String::as_str), Some("TASUKI_ANSWER_CLAIMED"));
    assert_eq!(variable(&job, &five, "TASUKI_ANSWER_CLAIMED"), None, "5.0 answers itself");
    assert_eq!(variable(&job, &mpich(), "MPIR_CVAR_CH4_NETMOD").as_deref(), Some("ofi"));
    assert_eq!(variable(&job, &mpich(), "UCX_MEM_MMAP_HOOK_MODE").as_deref(), Some("none"));
    assert_eq!(variable(&job, &intel(), "I_MPI_OFI_PROVIDER").as_deref(), Some("tasuki"));
    assert_eq!(variable(&job, &intel(), "I_MPI_FABRICS").as_deref(), Some("ofi"));
}

// Intel's Developer Reference, I_MPI_FABRICS. On several hosts its shared memory would keep a rank from
// learning that another of its host has died.
#[test]
fn intel_mpi_has_its_own_shared_memory_where_all_ranks_are_on_one_host() {
    let fabrics = |ranks, placement| {
        let job = Job { transport: tasuki(), placement, ..job(ranks) };
        variable(&job, &intel(), "I_MPI_FABRICS").unwrap()
    };
    assert_eq!(fabrics(2, Placement::BySlot), "shm:ofi", "two slots on the first host");
    assert_eq!(fabrics(3, Placement::BySlot), "ofi");
    assert_eq!(fabrics(2, Placement::ByNode), "ofi");
}

#[test]
fn what_the_user_exports_goes_before_the_providers_settings() {
    let folder = tempfile::tempdir().unwrap();
    let env: Vec<(OsString, OsString)> = vec![("FI_PROVIDER_PATH".into(), "/mine".into())];
    let job = Job { transport: tasuki(), env, ..job(2) };
    for mpi in open_with_libfabric(folder.path()).into_iter().chain([mpich(), intel()]) {
        assert_eq!(variable(&job, &mpi, "FI_PROVIDER_PATH").as_deref(), Some("/mine"), "{}", mpi.id());
    }
}

#[test]
fn an_mpi_without_libfabric_is_refused_in_words() {
    let debian = Mpi { device: Device { ofi: false, ucx: true }, ..mpich() };
    let job = Job { transport: tasuki(), ..job(2) };
    let Err(error @ JobError::LacksLibfabric(_)) = job.command(&debian) else { panic!("it was taken") };
    let text = error.to_string();
    assert!(text.contains("--transport tcp") && text.contains("wheels"), "{text}");
    assert!(Job { transport: Transport::Tcp, ..job }.command(&debian).is_ok());
}

// fi_provider(7). MPICH takes the provider from libfabric, Intel MPI from its own variable first.
#[test]
fn libfabrics_own_shared_memory_is_for_one_host_and_for_those_who_can() {
    let one = vec![JobHost { name: "n1".into(), slots: 2 }];
    let job = Job { transport: Transport::Shm, hosts: one, ..job(2) };
    assert_eq!(variable(&job, &mpich(), "FI_PROVIDER").as_deref(), Some("shm"));
    assert_eq!(variable(&job, &intel(), "I_MPI_OFI_PROVIDER").as_deref(), Some("shm"));
    let folder = tempfile::tempdir().unwrap();
    for mpi in &open_with_libfabric(folder.path()) {
        assert_eq!(job.command(mpi), Err(JobError::NotOverShm));
    }
    let two = ["n1", "n2"].map(|name| JobHost { name: name.into(), slots: 1 }).to_vec();
    assert_eq!(Job { hosts: two, ..job }.command(&mpich()), Err(JobError::ShmBetweenHosts));
}

/// Ranks without a launcher get what a launcher would pass on to them, and nothing that is for its daemons.
#[test]
fn ranks_without_a_launcher_have_what_a_launcher_would_pass_on() {
    let job = Job { env: vec![("A".into(), "b".into())], ..job(4) };
    for mpi in [mpich(), intel()] {
        let of_launch = job.command(&mpi).unwrap().env;
        let of_rank = job.rank_environment(&mpi).unwrap();
        let is_daemons = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("I_MPI_HYDRA");
        let expected: Vec<_> = of_launch.into_iter().filter(|(name, _)| !is_daemons(name)).collect();
        assert_eq!(of_rank, expected);
        assert!(of_rank.contains(&("FI_PROVIDER".into(), "tcp".into())) && of_rank.len() > 2);
    }
    for mpi in [open4(), open5()] {
        let error = job.rank_environment(&mpi).unwrap_err().to_string();
        assert!(error.contains("Open MPI") && error.contains("own launcher"), "{error}");
    }
}
