//! The NAS kernels, built with real MPIs and run on this machine over shared memory. The oracle is their own
//! verification against the published values. Without an MPI they are skipped.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, OnceLock},
    time::Duration,
};
use tasuki_bench::nas::{BuildError, Class, Damage, Kernel, Options, Outcome, build, parse};
use tasuki_process::{Output, run_limited};

/// Limit of the time of a run.
const LIMIT: Duration = Duration::from_secs(3600);

/// An MPI to build with and to start with.
#[derive(Clone, Copy, PartialEq)]
enum Mpi {
    /// Debian's, or whichever is in PATH.
    System,
    /// MPICH, from `scripts/peers`.
    Mpich,
}

impl Mpi {
    fn command(self, name: &str) -> PathBuf {
        let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
        match self {
            Self::System => name.into(),
            Self::Mpich => peers.join("mpich-5.0/bin").join(name),
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Mpich => "mpich",
        }
    }

    /// Starts a program on this machine; on Open MPI more ranks than cores yield to each other.
    fn run(self, ranks: u32) -> Command {
        let ranks = ranks.to_string();
        if self == Self::Mpich {
            let mut command = Command::new(self.command("mpiexec"));
            command.args(["-n", &ranks]);
            return command;
        }
        let mut command = Command::new("mpirun");
        command
            .args(["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"])
            .args(["--mca", "pml", "ob1", "--mca", "btl", "vader,self", "-np", &ranks])
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }
}

/// All programs for one MPI, built once for all tests; `None` if there is no such MPI.
fn built(mpi: Mpi) -> Option<&'static Path> {
    static BUILT: [OnceLock<Option<PathBuf>>; 2] = [OnceLock::new(), OnceLock::new()];
    BUILT[mpi as usize].get_or_init(|| build_all(mpi)).as_deref()
}

fn build_all(mpi: Mpi) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nas").join(mpi.folder());
    for kernel in Kernel::ALL {
        match build(kernel, &mpi.command("mpicc"), &folder.join(kernel.program())) {
            Ok(()) => {}
            Err(BuildError::NoCompiler(path)) => {
                eprintln!("skipped: no {}", path.display());
                return None;
            }
            Err(error) => panic!("{error}"),
        }
    }
    Some(folder)
}

fn run(mpi: Mpi, kernel: Kernel, ranks: u32, options: &Options) -> Option<Output> {
    /// Runs are made one at a time, because ranks of several runs on the same cores would wait for each
    /// other's time slices.
    static TURN: Mutex<()> = Mutex::new(());
    let program = built(mpi)?.join(kernel.program());
    let _turn = TURN.lock();
    let mut command = mpi.run(ranks);
    match run_limited(command.arg(program).args(options.arguments()), LIMIT) {
        Ok(output) => Some(output),
        Err(error) => panic!("{kernel}: {error}"),
    }
}

/// How a run ended, and all that it printed.
fn about(output: &Output) -> String {
    format!("{}\n{}{}", output.reason(), output.stdout, output.stderr)
}

/// Exit code of mpirun after a rank has died of SIGSEGV.
const SEGV: i32 = 128 + 11;

/// Runs and expects success. `None` if there is no MPI.
///
/// On a busy machine, about once in hundreds of runs, both ranks of Open MPI 4.1 die of SIGSEGV after the
/// program has printed its result. Only in this case it is run once more, as the program is tested here, not
/// the MPI.
fn verified(mpi: Mpi, kernel: Kernel, ranks: u32, options: &Options) -> Option<Outcome> {
    let class = options.class;
    let mut output = run(mpi, kernel, ranks, options)?;
    if output.code == Some(SEGV) && output.stdout.contains("= tasuki 1\n") {
        eprintln!("{kernel} {class} on {ranks}: died after its result was printed; again");
        output = run(mpi, kernel, ranks, options)?;
    }
    let about = format!("{kernel} {class} on {ranks}: {}", about(&output));
    assert!(output.is_success(), "{about}");
    let outcome = parse(&output.stdout).unwrap_or_else(|error| panic!("{error}: {about}"));
    assert_eq!((outcome.kernel, outcome.class, outcome.ranks), (kernel, class, ranks), "{about}");
    assert!(outcome.verified, "{about}");
    Some(outcome)
}

/// The smallest classes of every kernel from the `from`-th up to before the `to`-th, on every number of
/// ranks.
fn all_verify(mpi: Mpi, from: usize, to: usize, ranks: &[u32]) {
    for kernel in Kernel::ALL {
        for &class in &kernel.classes()[from..to] {
            for &ranks in ranks {
                let outcome = verified(mpi, kernel, ranks, &Options::new(class));
                if let Some(outcome) = outcome {
                    println!("{kernel} {class} {ranks} {:?}: {} Mop/s", mpi.folder(), outcome.mops);
                }
            }
        }
    }
}

#[test]
fn sample_class_verifies_on_one_two_and_four_ranks() {
    all_verify(Mpi::System, 0, 1, &[1, 2, 4]);
}

#[test]
fn sample_class_verifies_with_mpich() {
    all_verify(Mpi::Mpich, 0, 1, &[1, 4]);
}

#[test]
fn one_damaged_message_makes_every_kernel_fail() {
    for kernel in Kernel::ALL {
        let damage = Some(Damage { message: 2, rank: None, bit: None });
        let options = Options { damage, ..Options::new(kernel.classes()[0]) };
        let Some(output) = run(Mpi::System, kernel, 4, &options) else { return };
        let outcome =
            parse(&output.stdout).unwrap_or_else(|error| panic!("{kernel}: {error}: {}", about(&output)));
        assert!(!outcome.verified && !output.is_success(), "{kernel}: {}", output.stdout);
    }
}

/// The lowest bit of one number changes the result by less than its tolerance, so that only the digest sees
/// it.
#[test]
fn digests_see_a_bit_that_verification_cannot() {
    let damage = Some(Damage { message: 20, rank: Some(1), bit: Some(0) });
    let hidden = Options { damage, ..Options::new(Class::S) };
    let seen = Options { digest: true, ..hidden.clone() };
    if verified(Mpi::System, Kernel::Cg, 4, &hidden).is_none() {
        return;
    }
    let Some(output) = run(Mpi::System, Kernel::Cg, 4, &seen) else { return };
    assert_eq!(parse(&output.stdout).map(|outcome| outcome.verified), Ok(false), "{}", output.stdout);
    for kernel in Kernel::ALL {
        let untouched = Options { digest: true, ..Options::new(kernel.classes()[0]) };
        verified(Mpi::System, kernel, 4, &untouched);
    }
}

/// An event of a trace, by the words of the simulator's format.
struct Event {
    rank: usize,
    what: String,
    peer: Option<usize>,
    bytes: u64,
    compute_us: f64,
}

fn event(line: &str, ranks: usize) -> Event {
    let fields: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    let [rank, what, peer, bytes, compute_us] = fields[..] else { panic!("five fields: {line}") };
    let number = |text: &str| text.parse().unwrap_or_else(|error| panic!("{error}: {line}"));
    let event = Event {
        rank: number(rank) as usize,
        what: what.into(),
        peer: (peer != "-").then(|| number(peer) as usize),
        bytes: number(bytes),
        compute_us: compute_us.parse().unwrap_or(f64::NAN),
    };
    let paired = ["send", "recv", "bcast", "reduce"].contains(&what);
    assert!(event.rank < ranks && paired == event.peer.is_some(), "{line}");
    assert!(event.peer.is_none_or(|peer| peer < ranks) && event.compute_us >= 0.0, "{line}");
    event
}

/// The events of a trace, after its header.
fn events(trace: &str, ranks: usize) -> Vec<Event> {
    let mut lines = trace.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(lines.next(), Some("tasuki-trace 1"));
    assert_eq!(lines.next(), Some(format!("ranks {ranks}").as_str()));
    lines.map(|line| event(line, ranks)).collect()
}

/// Payload bytes that a rank sends, as `--profile` counts them.
fn sent_bytes(events: &[Event], rank: usize, ranks: usize) -> u64 {
    let own = events.iter().filter(|event| event.rank == rank);
    let bytes = own.map(|event| match event.what.as_str() {
        "recv" => 0,
        "alltoall" => event.bytes * (ranks as u64 - 1),
        _ => event.bytes,
    });
    bytes.sum()
}

/// Asserts what a replay needs: the k-th message from one rank to another has the same size at both ends, and
/// all ranks call the same collective operations in the same order.
fn assert_replayable(events: &[Event], ranks: usize) {
    let sizes = |what: &str, from: usize, to: usize| -> Vec<u64> {
        let (rank, peer) = if what == "send" { (from, to) } else { (to, from) };
        let these = events
            .iter()
            .filter(|event| event.what == what && event.rank == rank && event.peer == Some(peer));
        these.map(|event| event.bytes).collect()
    };
    for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
        assert_eq!(sizes("send", from, to), sizes("recv", from, to), "{from} to {to}");
    }
    let collectives = |rank: usize| -> Vec<(&str, Option<usize>, u64)> {
        let own = events.iter().filter(|event| event.rank == rank);
        let own = own.filter(|event| !["send", "recv", "end"].contains(&event.what.as_str()));
        own.map(|event| (event.what.as_str(), event.peer, event.bytes)).collect()
    };
    (1..ranks).for_each(|rank| assert_eq!(collectives(rank), collectives(0), "rank {rank}"));
}

#[test]
fn profile_and_trace_tell_the_same_bytes_and_the_times_add_up() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    for kernel in Kernel::ALL {
        let path = folder.path().join(kernel.program());
        let options =
            Options { profile: true, trace: Some(path.clone()), ..Options::new(kernel.classes()[0]) };
        let Some(outcome) = verified(Mpi::System, kernel, 4, &options) else { return };
        assert_eq!(outcome.breakdown.len(), 4);
        for rank in &outcome.breakdown {
            let sum = rank.computation_s + rank.communication_s + rank.waiting_s;
            assert!((sum - outcome.seconds).abs() < 1e-5, "{kernel}: {rank:?} is not {}", outcome.seconds);
        }
        let trace = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let events = events(&trace, 4);
        assert_replayable(&events, 4);
        let mut least_idle = f64::INFINITY;
        for (rank, told) in outcome.breakdown.iter().enumerate() {
            assert_eq!(sent_bytes(&events, rank, 4), told.bytes, "{kernel}, rank {rank}");
            let own = events.iter().filter(|event| event.rank == rank);
            let computed: f64 = own.map(|event| event.compute_us).sum();
            // The profile also counts the time from a rank's end to the end of the slowest rank.
            least_idle = least_idle.min(told.computation_s - computed * 1e-6);
        }
        assert!(
            least_idle.abs() < 1e-4,
            "{kernel}: the slowest rank computed {least_idle} s more by the profile"
        );
    }
}

#[test]
fn a_wrong_command_line_or_number_of_ranks_is_refused() {
    let Some(folder) = built(Mpi::System) else { return };
    let words: [(u32, &[&str]); 4] =
        [(1, &[]), (1, &["--class", "Z"]), (3, &["--class", "S"]), (1, &["--class", "S", "--damage", "0"])];
    for (ranks, words) in words {
        let mut command = Mpi::System.run(ranks);
        let output = run_limited(command.arg(folder.join("is")).args(words), LIMIT);
        let output = output.unwrap_or_else(|error| panic!("{error}"));
        assert!(output.code.is_some_and(|code| code != 0), "{words:?}");
        assert!(output.stderr.contains("usage: IS"), "{words:?}: {}", output.stderr);
    }
}

#[test]
fn a_compiler_that_is_missing_or_refuses_is_told() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let target = folder.path().join("ep");
    let missing = build(Kernel::Ep, Path::new("no-such-mpicc"), &target);
    assert!(matches!(missing, Err(BuildError::NoCompiler(_))), "{missing:?}");
    let refused = build(Kernel::Ep, Path::new("false"), &target);
    assert!(matches!(refused, Err(BuildError::Refused { .. })), "{refused:?}");
}

#[test]
#[ignore = "long: minutes"]
fn classes_up_to_a_verify_on_one_two_and_four_ranks() {
    for mpi in [Mpi::System, Mpi::Mpich] {
        all_verify(mpi, 1, 3, &[1, 2, 4]);
    }
}

#[test]
#[ignore = "long: an hour on two cores, far more ranks than cores"]
fn small_classes_verify_on_up_to_64_ranks() {
    all_verify(Mpi::System, 0, 2, &[8, 16, 32, 64]);
}

#[test]
#[ignore = "long: minutes, and 2 GB of memory"]
fn class_b_verifies() {
    for kernel in [Kernel::Is, Kernel::Cg, Kernel::Mg] {
        verified(Mpi::System, kernel, 2, &Options::new(Class::B));
    }
}
