//! Programs of real MPIs that save their state with `tasuki_checkpoint.h`: killed at random moments, with
//! hosts lost or replaced between, they end with the result of a run that nothing has disturbed.

use crate::support::{
    TestLab,
    mpi::{c_example, families, fortran_example},
    mpis::Mpi,
    run::{MpiRun, Running},
    seed, skip_without_root,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{fs, path::PathBuf, thread, time::Duration};
use tasuki_random::Random;

const SIDE: &str = "400";
const STEPS: &str = "6000";

/// The result, without what tells of checkpoints.
fn heat(printed: &str) -> &str {
    let (_, rest) = printed.split_once("heat ").unwrap_or_else(|| panic!("{printed}"));
    rest.split(',').next().expect("a number")
}

/// A program with a folder of checkpoints.
struct Job<'a> {
    lab: &'a TestLab,
    mpi: &'a Mpi,
    program: PathBuf,
    folder: PathBuf,
}

impl Job<'_> {
    fn run(&self) -> MpiRun {
        let run = MpiRun::new(self.lab, self.mpi, "tasuki", 4, &self.program).args([SIDE, STEPS]);
        let folder = self.folder.join("%h");
        // Often enough that many of the kills hit a save.
        run.env("TASUKI_CHECKPOINT", &folder.to_string_lossy()).env("TASUKI_CHECKPOINT_FAILURES", "1")
    }

    /// The newest epoch that was finished; 0: none.
    fn newest(&self) -> u64 {
        let hosts = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let epochs = hosts.flat_map(|host| fs::read_dir(host.path()).into_iter().flatten().flatten());
        let finished = epochs.filter(|entry| entry.path().join("finished").exists());
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.split('-').next()?.parse().ok();
        finished.filter_map(number).max().unwrap_or(0)
    }

    /// Kills a rank, or all of them, some time after an epoch was saved or read. False: the program was
    /// faster.
    fn strike(&self, running: &mut Running, random: &mut Random) -> bool {
        // MPICH's own mpiexec waits for ever if a rank is killed while its MPI_Init asks for addresses.
        let goes_on = self.newest() > 0;
        let is_ready = |running: &Running| match goes_on {
            true => running.printed().contains("goes on from step"),
            false => self.newest() > 0,
        };
        while running.is_running() && !is_ready(running) {
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(random.below(400)));
        let ranks = running.ranks();
        if ranks.is_empty() || !running.is_running() {
            return false;
        }
        let all = random.chance(30);
        for rank in if all { &ranks[..] } else { &ranks[..1] } {
            // It may have ended just now.
            let _ = kill(Pid::from_raw(rank.pid), Signal::SIGKILL);
        }
        true
    }
}

/// Each round kills; some then take a host's folder away, as if its disk was lost with it.
fn survives(test: &str, rounds: u32) {
    if skip_without_root(test) {
        return;
    }
    let mut random = Random::new(seed(test));
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let lab = TestLab::up("checkpoint", &["--shape", "full:2"]);
    for mpi in families(test).iter().filter(|mpi| ["openmpi-5.0", "mpich-4.3"].contains(&mpi.name)) {
        let program = folder.path().join(format!("heat-{}", mpi.name));
        c_example(&mpi.mpicc, "checkpoint_heat", &program);
        let of = |name: &str| folder.path().join(format!("{name}-{}", mpi.name));
        let quiet = Job { lab: &lab, mpi, program: program.clone(), folder: of("quiet") };
        let printed = quiet.run().ok();
        let expected = heat(&printed);
        let job = Job { lab: &lab, mpi, program, folder: of("struck") };
        let (mut strikes, mut lost, mut at_loss) = (0, 0, 0);
        for round in 0..rounds {
            let mut running = job.run().start();
            if !job.strike(&mut running, &mut random) {
                assert_eq!(heat(&running.ok()), expected, "{}, round {round}", mpi.name);
                at_loss = 0;
                continue;
            }
            strikes += 1;
            let finished = running.finish();
            assert!(finished.status.is_some_and(|status| !status.success()), "{}", finished.report());
            // What one host's loss has left alone is kept twice again by the next epoch, and not before.
            if random.chance(50) && job.newest() > at_loss {
                (lost, at_loss) = (lost + 1, job.newest());
                let host = random.pick(&["n1", "n2"]);
                fs::remove_dir_all(job.folder.join(host)).expect("a host's folder");
            }
        }
        // Whether it goes on, and that it does so rightly.
        let is_saved = job.newest() > 0;
        let printed = job.run().ok();
        assert_eq!(heat(&printed), expected, "{}", mpi.name);
        assert_eq!(printed.contains("goes on from step"), is_saved, "{printed}");
        assert_eq!(job.newest(), 0, "nothing is kept at the end");
        eprintln!("{}: {strikes} strikes, {lost} hosts lost", mpi.name);
        assert!(strikes > 0, "{}: no round was struck", mpi.name);
    }
}

#[test]
fn killed_programs_go_on_from_their_checkpoints() {
    survives("killed_programs_go_on_from_their_checkpoints", 4);
}

/// Two compilers, one computation: to the last bit what the program in C says, also after a kill.
#[test]
fn a_killed_program_in_fortran_goes_on_from_its_checkpoint() {
    let test = "a_killed_program_in_fortran_goes_on_from_its_checkpoint";
    if skip_without_root(test) {
        return;
    }
    let Some(mpi) = families(test).into_iter().find(|mpi| mpi.name == "openmpi-4.1") else { return };
    let mut random = Random::new(seed(test));
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let lab = TestLab::up("fortran", &["--shape", "full:2"]);
    let job = |name: &str| {
        let (program, folder) = (folder.path().join(name), folder.path().join(format!("{name}-images")));
        Job { lab: &lab, mpi: &mpi, program, folder }
    };
    let (c, fortran) = (job("c"), job("fortran"));
    c_example(&mpi.mpicc, "checkpoint_heat", &c.program);
    fortran_example(&mpi.mpicc.with_file_name("mpif90.openmpi"), "checkpoint_heat", &fortran.program);
    let number = |printed: &str| heat(printed).trim().parse::<f64>().expect("a number");
    let expected = number(&c.run().ok());
    let mut running = fortran.run().start();
    let is_struck = fortran.strike(&mut running, &mut random);
    if is_struck {
        assert!(running.finish().status.is_some_and(|status| !status.success()));
    } else {
        assert_eq!(number(&running.ok()), expected);
    }
    let is_saved = fortran.newest() > 0;
    let printed = fortran.run().ok();
    assert_eq!(number(&printed), expected, "{printed}");
    assert_eq!(printed.contains("goes on from step"), is_saved, "{printed}");
    assert_eq!(fortran.newest(), 0, "nothing is kept at the end");
}

#[test]
#[ignore = "takes minutes: a hundred kills"]
fn killed_programs_go_on_from_their_checkpoints_a_hundred_times() {
    survives("killed_programs_go_on_from_their_checkpoints_a_hundred_times", 50);
}
