//! Wires that lose, duplicate and corrupt frames, cables that are cut, ranks that are killed: programs end,
//! with every byte as it was sent, or learn that a peer is gone. Random choices are printed and can be
//! repeated (TASUKI_SEED).

use crate::support::{
    TestLab,
    killed::uncleaned,
    mpi::{Programs, families, transports},
    run::{MpiRun, Running},
    seed, skip_without_root,
};
use std::{path::Path, thread, time::Duration};
use tasuki_random::Random;

fn pause(random: &mut Random, least_ms: u64, most_ms: u64) {
    thread::sleep(Duration::from_millis(least_ms + random.below(most_ms - least_ms)));
}

/// Programs whose last message is under way when MPI_Finalize begins, over wires that lose every fifth frame.
fn lossy_ends(test: &str, rounds: u64) {
    if skip_without_root(test) {
        return;
    }
    let seed = seed(test);
    let lab = TestLab::up("ends", &["--shape", "full:2", "--seed", &(seed as u32).to_string()]);
    let programs = Programs::new();
    lab.fault("loss", &["all", "20%"]);
    for mpi in families(test) {
        let built = programs.build("finish", &mpi);
        for transport in transports() {
            for round in 0..rounds {
                let run = MpiRun::new(&lab, &mpi, &transport, 2, &built).args([round.to_string()]);
                let printed = run.ok();
                assert_eq!(printed.matches("finished").count(), 2, "{}: {printed}", mpi.name);
            }
        }
    }
}

#[test]
fn lossy_wires_at_the_end() {
    lossy_ends("lossy_wires_at_the_end", 4);
}

#[test]
#[ignore = "takes minutes: a hundred ends on every MPI"]
fn lossy_wires_at_a_hundred_ends() {
    lossy_ends("lossy_wires_at_a_hundred_ends", 100);
}

/// From about the last message on no frame passes. Once the wires are whole again, everything ends well.
fn dead_ends(test: &str, rounds: u64) {
    if skip_without_root(test) {
        return;
    }
    let mut random = Random::new(seed(test));
    let lab = TestLab::up("cutends", &["--shape", "full:2"]);
    let programs = Programs::new();
    for mpi in families(test) {
        let built = programs.build("finish", &mpi);
        for transport in transports() {
            for round in 0..rounds {
                let run = MpiRun::new(&lab, &mpi, &transport, 2, &built).args([round.to_string()]);
                let mut running = run.start();
                while running.is_running() && !running.printed().contains("finalizing") {
                    thread::sleep(Duration::from_micros(200));
                }
                thread::sleep(Duration::from_micros(random.below(4_000)));
                // Both directions are cut, or one: then data arrive and acknowledgements do not.
                let ends: [&[&str]; 3] = [&[], &["--from", "n1"], &["--from", "n2"]];
                let mut arguments = vec!["all", "--keep-carrier"];
                arguments.extend(ends[random.below(3) as usize]);
                lab.fault("cut", &arguments);
                pause(&mut random, 100, 1_500);
                lab.fault("heal", &["all"]);
                let printed = running.ok();
                assert_eq!(printed.matches("finished").count(), 2, "{}: {printed}", mpi.name);
            }
        }
    }
}

#[test]
fn dead_wires_at_the_end() {
    dead_ends("dead_wires_at_the_end", 4);
}

#[test]
#[ignore = "takes minutes: forty ends on every MPI"]
fn dead_wires_at_forty_ends() {
    dead_ends("dead_wires_at_forty_ends", 40);
}

/// Name and value of a variable of the environment.
type Variable<'a> = (&'a str, &'a str);

/// Starts hpcc in `folder`. Debian's hpcc is linked with Open MPI 4.1.
fn hpcc(
    lab: &TestLab,
    transport: &str,
    variables: &[Variable<'_>],
    folder: &Path,
    input: &tasuki_bench::hpcc::Input,
) -> Option<Running> {
    tasuki_bench::hpcc::prepare(folder, input).expect("an input file");
    let mpi = families("hpcc").into_iter().find(|mpi| mpi.name == "openmpi-4.1")?;
    let run = MpiRun::new(lab, &mpi, transport, input.ranks(), Path::new("hpcc"));
    let run = variables.iter().fold(run, |run, (name, value)| run.env(name, value));
    Some(run.folder(folder).limit(900).start())
}

/// Runs hpcc while `disturb` changes the wires, until the run ends.
fn hpcc_survives(test: &str, lab: &[&str], memory: u64, disturb: impl FnMut(&TestLab, &mut Running)) {
    hpcc_survives_with(test, lab, memory, &[], disturb);
}

/// Like [`hpcc_survives`], with variables for the transport.
fn hpcc_survives_with(
    test: &str,
    lab: &[&str],
    memory: u64,
    variables: &[Variable<'_>],
    mut disturb: impl FnMut(&TestLab, &mut Running),
) {
    if skip_without_root(test) {
        return;
    }
    for transport in transports() {
        let lab = TestLab::up("hpcc", lab);
        let folder = tempfile::tempdir().expect("a folder");
        let input = tasuki_bench::hpcc::Input::new(4, memory).expect("a problem");
        let Some(mut running) = hpcc(&lab, &transport, variables, folder.path(), &input) else { return };
        disturb(&lab, &mut running);
        running.ok();
        let outcome = tasuki_bench::hpcc::collect(folder.path(), &input).expect("results");
        let failed: Vec<_> = outcome.failed().collect();
        assert!(outcome.verified() && outcome.checks.len() > 5, "over {transport}: {failed:?}");
        eprintln!("{test}, {transport}: {} checks passed", outcome.checks.len());
    }
}

/// Runs hpcc on four hosts while all wires have these faults, each with its likelihood.
fn hpcc_over(test: &str, memory: u64, variables: &[Variable<'_>], faults: &[(&str, &str)]) {
    let seed = (seed(test) as u32).to_string();
    hpcc_survives_with(test, &["--shape", "full:4", "--seed", &seed], memory, variables, |lab, _| {
        faults.iter().for_each(|(kind, share)| lab.fault(kind, &["all", share]));
    });
}

#[test]
fn hpcc_on_four_hosts() {
    hpcc_survives("hpcc_on_four_hosts", &["--shape", "full:4"], 2 << 20, |_, _| ());
}

#[test]
#[ignore = "takes minutes"]
fn hpcc_over_wires_that_lose_and_double() {
    let faults = [("loss", "1%"), ("duplicate", "1%")];
    hpcc_over("hpcc_over_wires_that_lose_and_double", 4 << 20, &[], &faults);
}

/// Datagrams without headers are lost, duplicated and corrupted, and every byte arrives.
#[test]
#[ignore = "takes minutes"]
fn hpcc_length_coded_over_wires_that_lose_double_and_damage() {
    let test = "hpcc_length_coded_over_wires_that_lose_double_and_damage";
    let faults = [("loss", "1%"), ("duplicate", "1%"), ("corrupt", "0.1%")];
    hpcc_over(test, 16 << 20, &[("TASUKI_BULK", "length")], &faults);
}

#[test]
#[ignore = "takes minutes"]
fn hpcc_with_a_fixed_window_and_with_static_rates() {
    let test = "hpcc_with_a_fixed_window_and_with_static_rates";
    for rate in ["window", "static:400M/128K"] {
        hpcc_survives_with(test, &["--shape", "full:4"], 16 << 20, &[("TASUKI_RATE", rate)], |_, _| ());
    }
}

#[test]
#[ignore = "takes minutes"]
fn hpcc_over_wires_that_damage() {
    hpcc_over("hpcc_over_wires_that_damage", 4 << 20, &[], &[("corrupt", "1%")]);
}

/// Three of four cables are cut and healed at random, and now and then all of them are cut for five seconds.
#[test]
#[ignore = "takes minutes"]
fn hpcc_while_cables_are_cut_and_healed() {
    let test = "hpcc_while_cables_are_cut_and_healed";
    let mut random = Random::new(seed(test));
    hpcc_survives(test, &["--shape", "pair:4"], 8 << 20, |lab, running| {
        let (mut cuts, mut blackouts) = (0, 0);
        while running.is_running() {
            pause(&mut random, 200, 1_500);
            let spared = random.below(4);
            for cable in (0..4).filter(|cable| *cable != spared) {
                let name = format!("n1:eth{}", cable + 1);
                let silent = random.below(2) == 0;
                let argv = [name.as_str(), "--keep-carrier"];
                lab.fault("cut", if silent { &argv } else { &argv[..1] });
            }
            pause(&mut random, 300, 2_000);
            lab.fault("heal", &["all"]);
            cuts += 1;
            if cuts % 4 == 0 {
                lab.fault("cut", &["all"]);
                thread::sleep(Duration::from_secs(5));
                lab.fault("heal", &["all"]);
                blackouts += 1;
            }
        }
        eprintln!("{test}: cut and healed {cuts} times, all cables {blackouts} times");
        assert!(blackouts > 0, "the run was over too soon");
    });
}

/// Every surviving rank ends within 10 s of the death: with an error from its call, because the user asks for
/// errors, or because the MPI ends the process. Over TCP they do not: Open MPI 4.1 and both MPICHs wait for
/// ever.
fn killed_rank(test: &str, how: &str) {
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("killed", &["--shape", "full:3"]);
    let programs = Programs::new();
    for mpi in families(test) {
        let built = programs.build("victim", &mpi);
        for transport in transports() {
            // This run also makes the program visible in all hosts.
            let whole = MpiRun::new(&lab, &mpi, &transport, 3, &built).args(["nobody"]).ok();
            assert!(whole.contains("victim ok"), "{whole}");
            let variables = [("TASUKI_PEER_FAILURE", "report")];
            let run = uncleaned(&lab, &mpi, &transport, 3, &built, &[how], &variables);
            let finished = run.limit(60).finish();
            eprintln!("{}: {:?}\n{}", finished.label, finished.status, finished.stdout);
            assert!(finished.status.is_some(), "{}", finished.report());
            for line in finished.stdout.lines().filter(|line| line.contains("error after")) {
                let seconds = line.split_whitespace().nth(4).and_then(|word| word.parse::<f64>().ok());
                assert!(seconds.is_some_and(|seconds| seconds < 10.0), "{}", finished.report());
            }
        }
    }
}

#[test]
fn a_killed_rank_is_noticed_by_who_waits_for_it() {
    killed_rank("a_killed_rank_is_noticed_by_who_waits_for_it", "receive");
}

#[test]
fn a_killed_rank_is_noticed_by_who_sends_to_it() {
    killed_rank("a_killed_rank_is_noticed_by_who_sends_to_it", "send");
}

/// Three ranks flood a fourth with messages that it receives only later. Over Tasuki its memory grows by the
/// receiver's pool (32 MiB), by what describes the messages, and by what the MPI itself needs, however much
/// was sent.
fn flood(test: &str, messages: u64, bytes: u64) {
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("flood", &["--shape", "full:4"]);
    let programs = Programs::new();
    for mpi in families(test) {
        let built = programs.build("flood", &mpi);
        for transport in transports() {
            let run = MpiRun::new(&lab, &mpi, &transport, 4, &built).limit(600);
            let printed = run.args([messages.to_string(), bytes.to_string()]).ok();
            let grown =
                printed.lines().find_map(|line| line.strip_prefix("peak grew by ")).expect("a figure");
            let grown: u64 = grown.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
            let sent = 3 * messages * bytes / 1024;
            eprintln!("{test}: {} over {transport}: {sent} KiB sent, peak grew by {grown} KiB", mpi.name);
            if transport == "tasuki" {
                let bound = (32 << 10) + 3 * messages * ENVELOPE_BYTES / 1024 + (16 << 10);
                assert!(grown <= bound, "{}: {grown} KiB are more than {bound}", mpi.name);
            }
        }
    }
}

/// Most memory that a message costs the receiver besides its payload, bytes
/// (docs/internals/message-layer.md).
const ENVELOPE_BYTES: u64 = 1024;

#[test]
#[ignore = "takes minutes"]
fn a_flood_of_unexpected_messages() {
    flood("a_flood_of_unexpected_messages", 4_000, 4_000);
}

#[test]
#[ignore = "takes minutes: 1.2 GB"]
fn a_flood_of_more_than_a_gigabyte() {
    flood("a_flood_of_more_than_a_gigabyte", 100_000, 4_000);
}
