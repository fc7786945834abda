//! Test suites of other projects over Tasuki: mpi4py's own, from its source distribution
//! (`scripts/mpi4py-suite`).

use crate::support::{
    TestLab,
    mpi::{families, transports},
    mpis::{Mpi, peers},
    run::MpiRun,
    skip_without_root, skipped,
};
use std::path::{Path, PathBuf};

/// Tests that an MPI cannot pass, and why. A reason that begins with `cm:` is a defect of Open MPI's use of
/// libfabric: it also shows with libfabric's own providers (tried with `tcp;ofi_rxm`), but not over Open
/// MPI's own TCP (`ob1`). All other tests fail there as well.
const EXCLUDED: &[(&str, &str, &str)] = &[
    (
        "mpich",
        "testDistgraphcomm",
        "MPICH receives another message than it probed for if one of its own rank's came in between \
         (programs/probe.c, `any`): over TCP the test hangs in one of three runs",
    ),
    ("mpich-4.3", "test_spawn", "spawned processes end in MPI_Init: `barrier not initialized`"),
    ("mpich-5.0", "testGetFortranInfo", "the MPICH wheel is built without Fortran"),
    (
        "openmpi-4.1",
        "Bottom",
        "cm: for MPI_BOTTOM and a type that begins at an address the provider is given a null pointer \
         (ompi_mtl_datatype_pack passes the base over the lower bound by); Open MPI 5 is fine",
    ),
    (
        "openmpi-4.1",
        "test_p2p_obj.TestP2PObj*.testCancel",
        "cm: MPI_Cancel of a synchronous send crashes in ompi_mtl_ofi_cancel (open-mpi/ompi#11324); Open MPI \
         5 is fine",
    ),
    ("openmpi-4.1", "testISSendCancel", "cm: the same: it looks at a request that nobody has initialised"),
    ("openmpi-4.1", "testProbeCancel", "cm: the same"),
    (
        "openmpi-4.1",
        "test_util_sync",
        "no window can be made with MPI_THREAD_MULTIPLE on several hosts (osc pt2pt)",
    ),
    ("openmpi-4.1", "TestWinAllocateWorld", "the same"),
    ("openmpi-5.0", "testRevoke", "cm: MPI_Comm_revoke does nothing; Open MPI's fault tolerance needs ob1"),
    (
        "openmpi",
        "test_spawn",
        "Open MPI's runtimes cannot connect spawned processes on several hosts (see the test \
         spawned_processes)",
    ),
    (
        "openmpi",
        "test_dynproc",
        "PRRTE's daemons die of connect/accept between hosts (see connect_and_accept)",
    ),
];

fn suite() -> Option<PathBuf> {
    let folder = peers().join("mpi4py-suite");
    if folder.join(".suite").exists() {
        return Some(folder);
    }
    skipped("mpi4py's suite", "not installed (scripts/mpi4py-suite)");
    None
}

/// Runs the suite, or the modules that match `only`. Returns the number of tests that each rank has run.
fn run(lab: &TestLab, mpi: &Mpi, transport: &str, ranks: u32, only: Option<&str>) {
    let Some(suite) = suite() else { return };
    // Hosts have a /tmp of their own each, and files for parallel input and output need a folder that they
    // share.
    let shared = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let tests = suite.join("test/main.py");
    let mut argv = vec![
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/suite.py").display().to_string(),
        shared.path().display().to_string(),
        tests.display().to_string(),
    ];
    for (_, pattern, _) in EXCLUDED.iter().filter(|(name, ..)| mpi.name.starts_with(name)) {
        let whole_module = pattern.starts_with("test_") && !pattern.contains('.');
        let option = if whole_module { "-e" } else { "-x" };
        argv.extend([option.to_owned(), (*pattern).to_owned()]);
    }
    argv.extend(only.into_iter().flat_map(|module| ["-i".to_owned(), module.to_owned()]));
    let run = MpiRun::new(lab, mpi, transport, ranks, &suite.join("bin/python")).args(argv);
    let finished = run.limit(2_400).finish();
    // Ranks write at the same time, so a line need not begin where a rank began it.
    let said: Vec<_> = finished
        .stderr
        .match_indices("Ran ")
        .filter_map(|(at, _)| finished.stderr[at..].lines().next())
        .collect();
    eprintln!("mpi4py: {} over {transport}, {ranks} ranks: {}", mpi.name, said.join("; "));
    assert!(finished.status.is_some_and(|status| status.success()), "{}", finished.report());
    assert_eq!(said.len(), ranks as usize, "{}", finished.report());
}

fn everywhere(test: &str, hosts: u32, only: Option<&str>) {
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("mpi4py", &["--shape", &format!("full:{hosts}")]);
    for mpi in families(test) {
        for transport in transports() {
            run(&lab, &mpi, &transport, hosts, only);
        }
    }
}

/// A selection of tests: point to point, with and without probing.
#[test]
#[ignore = "takes minutes"]
fn mpi4py_point_to_point() {
    everywhere("mpi4py_point_to_point", 2, Some("test_p2p"));
}

#[test]
#[ignore = "takes half an hour"]
fn mpi4py_on_two_hosts() {
    everywhere("mpi4py_on_two_hosts", 2, None);
}

#[test]
#[ignore = "takes an hour"]
fn mpi4py_on_four_hosts() {
    everywhere("mpi4py_on_four_hosts", 4, None);
}
