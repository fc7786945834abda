//! Random deaths, lost hosts and damaged files.

use std::fs;
use std::path::{Path, PathBuf};

use tasuki_checkpoint::Error;
use tasuki_random::Random;
use tasuki_testkit::replay::Replay;

use crate::hall::memory_folder;
use crate::job::{Outcome, Run, folder, run};

const REPLAY: Replay = Replay {
    variable: "TASUKI_TEST_CHECKPOINT_SEED",
    command: "cargo test --release -p tasuki-checkpoint --test suite lives",
};

/// What happens to the files between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Nothing,
    HostLost,
    ByteFlipped,
    Cut,
}

#[derive(Debug, Default)]
struct Sum {
    deaths: u64,
    restored: u64,
    lost: u64,
    damaged: u64,
    anew: u64,
}

/// One host's loss or one damaged file between two runs: nothing that was saved is lost.
#[test]
fn what_is_saved_lives_through_one_loss_at_a_time() {
    let mut sum = Sum::default();
    for seed in REPLAY.seeds(250) {
        println!("{}", REPLAY.sentence(seed));
        lives(seed, &mut sum);
    }
    println!("{sum:?}");
    let reached = [sum.deaths, sum.restored, sum.lost, sum.damaged, sum.anew];
    assert!(!REPLAY.is_default() || reached.iter().all(|&count| count > 20), "not reached: {sum:?}");
}

fn lives(seed: u64, sum: &mut Sum) {
    let mut random = Random::new(seed);
    let root = memory_folder();
    let (hosts, size) = (random.between(1, 4) as usize, random.between(1, 6) as usize);
    let most = if seed.is_multiple_of(16) { 9 << 20 } else { 5_000 };
    let lengths = (0..size).map(|_| random.magnitude(most) as usize).collect();
    let mut job = Run {
        seed,
        hosts: (0..size).map(|rank| rank % hosts).collect(),
        root: root.path().to_owned(),
        copies: random.chance(80),
        steps: 0,
        saves: random.between(20, 100),
        dies: None,
        lengths,
    };
    // The last step that must come back, and whether a second loss could take it.
    let (mut saved, mut is_whole) = (0, true);
    for _ in 0..random.between(2, 6) {
        job.seed = random.next_u64();
        job.steps += random.between(1, 8);
        job.dies = random.chance(80).then(|| (random.index(size), random.below(60)));
        let outcomes = run(&job);
        judge(&outcomes, &mut saved, sum);
        // An epoch that came back after a loss is there once; the next that is saved is there twice.
        is_whole |= outcomes.iter().any(|one| one.begun.as_ref().is_ok_and(|begun| one.saved > *begun));
        let copies = job.copies && hosts > 1 && size > 1;
        if is_whole && copies {
            let damage = random.pick(&[Damage::Nothing, Damage::HostLost, Damage::ByteFlipped, Damage::Cut]);
            do_damage(damage, &job, &mut random, sum);
            is_whole = damage == Damage::Nothing;
        }
        if random.chance(30) {
            random_hosts(&mut job, &mut random, copies);
        }
    }
}

/// All processes that began did so with the same step, which is the last that any of them knew to be saved,
/// or one that was being saved.
fn judge(outcomes: &[Outcome], saved: &mut u64, sum: &mut Sum) {
    sum.deaths += u64::from(outcomes.iter().any(|outcome| !outcome.is_over));
    let mut steps = Vec::new();
    for outcome in outcomes {
        match &outcome.begun {
            Ok(step) => steps.push(*step),
            Err(Error::Group(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let Some(&first) = steps.first() else { return };
    assert!(steps.iter().all(|step| *step == first), "not one epoch: {steps:?}");
    assert!(first >= *saved, "step {saved} was saved, and {first} came back");
    sum.restored += u64::from(first > 0);
    sum.anew += u64::from(first == 0);
    *saved = outcomes.iter().map(|outcome| outcome.saved).max().unwrap_or(0).max(first);
}

/// Moves processes to other hosts, as a machine of which one host was replaced may: every folder is still
/// some process's, or what lies there would be lost as well.
fn random_hosts(job: &mut Run, random: &mut Random, is_spread: bool) {
    if is_spread {
        let turn = random.index(job.hosts.len());
        job.hosts.rotate_left(turn);
    }
}

fn images(root: &Path, hosts: &[usize]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for host in hosts {
        for epoch in fs::read_dir(folder(root, *host)).into_iter().flatten().flatten() {
            let files = fs::read_dir(epoch.path()).into_iter().flatten().flatten();
            found.extend(files.map(|file| file.path()).filter(|path| path.is_file()));
        }
    }
    found.sort();
    found
}

fn do_damage(damage: Damage, job: &Run, random: &mut Random, sum: &mut Sum) {
    match damage {
        Damage::Nothing => {}
        Damage::HostLost => {
            sum.lost += 1;
            let _ = fs::remove_dir_all(folder(&job.root, random.pick(&job.hosts)));
        }
        Damage::ByteFlipped | Damage::Cut => {
            let files = images(&job.root, &job.hosts);
            if files.is_empty() {
                return;
            }
            sum.damaged += 1;
            let path = &files[random.index(files.len())];
            let mut bytes = fs::read(path).expect("an image");
            let at = random.index(bytes.len());
            match damage {
                Damage::Cut => bytes.truncate(at),
                _ if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
                _ => {}
            }
            fs::write(path, bytes).expect("an image");
        }
    }
}

/// Many losses at once may take everything, but what comes back is right, or the program is told.
#[test]
fn what_comes_back_is_right_whatever_was_lost() {
    let (mut told, mut came_back) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let root = memory_folder();
        let mut job = Run {
            seed,
            hosts: (0..4).map(|rank| rank % 3).collect(),
            root: root.path().to_owned(),
            copies: true,
            steps: 6,
            saves: 60,
            dies: None,
            lengths: vec![3_000, 0, 17, 2_000_000],
        };
        run(&job);
        for _ in 0..random.between(1, 12) {
            do_damage(Damage::ByteFlipped, &job, &mut random, &mut Sum::default());
        }
        job.steps = 0;
        let outcomes = run(&job);
        let errors = outcomes.iter().filter(|outcome| outcome.begun.is_err()).count();
        // `run` compares the memory that came back.
        assert!(errors == 0 || errors == 4, "all are told, or none: {outcomes:?}");
        told += u64::from(errors > 0);
        came_back += u64::from(errors == 0);
    }
    assert!(told > 5 && came_back > 5, "{told} told, {came_back} came back");
}

/// Two processes die in turn, each in any of the calls of a save, so that one has written its image in one
/// try of an epoch and the other in another try: these are no epoch.
#[test]
fn images_of_two_tries_are_no_epoch() {
    for seed in 0..16 * 32 {
        let (call, who) = (seed / 16, seed as usize % 2);
        let root = memory_folder();
        let mut job = Run {
            seed,
            hosts: vec![0, 1],
            root: root.path().to_owned(),
            copies: false,
            steps: 1,
            saves: 100,
            dies: None,
            lengths: vec![100, 100],
        };
        let mut saved = 0;
        for (steps, dies) in [(1, None), (3, Some((who, call))), (4, Some((1 - who, call))), (4, None)] {
            // The tries of epoch 2 are of different steps, since one step in two saves.
            job.saves = if steps == 3 { 100 } else { 50 };
            job.seed += 10;
            (job.steps, job.dies) = (steps, dies);
            judge(&run(&job), &mut saved, &mut Sum::default());
        }
    }
}
