//! `tasuki plan --for`: what it says of two cablings is what the program does on them.

use crate::support::{TestLab, mpis::mpis, ok, run::MpiRun, skip_without_root, tasuki};
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Rate of the cables: what two processors easily fill.
const RATE: &str = "100M";

/// Seconds that IS, class A, says that it took with four ranks on the four hosts of a cluster.
fn seconds(cluster: &Path, kernel: &Path, trace: Option<&Path>) -> f64 {
    let lab = TestLab::up("plan-for", &[cluster.to_str().expect("UTF-8")]);
    let mut command = tasuki();
    command.args(["run", "--lab", &lab.name, "--mpi", "openmpi-4.1", "--transport", "tasuki", "-n", "4"]);
    if let Some(trace) = trace {
        command.arg("--trace").arg(trace);
    }
    command.arg(kernel).args(["--class", "A"]);
    let printed = MpiRun::of(command, &lab, "IS".into()).ok();
    assert!(printed.contains("SUCCESSFUL"), "{printed}");
    let line = printed.lines().find(|line| line.contains("Time in seconds"));
    let value = line.and_then(|line| line.rsplit('=').next()?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no time: {printed}"))
}

/// IS sends nearly all of its keys to other ranks. It is recorded on a star of one cable per host, and the
/// best cabling of three ports per host is run for real: the order is that of the plan.
#[test]
#[ignore = "measures; a minute"]
fn the_order_of_two_cablings_is_that_of_real_runs() {
    let test = "the_order_of_two_cablings_is_that_of_real_runs";
    if skip_without_root(test) || !mpis(test).iter().any(|mpi| mpi.name == "openmpi-4.1") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [star, best, trace] = ["star.toml", "best.toml", "is.trace"].map(|name| folder.path().join(name));
    let build = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/nas/build.sh");
    ok(Command::new("sh").arg(build).arg("mpicc.openmpi").arg(folder.path()).arg("is"));
    let kernel = folder.path().join("is");
    fs::write(&star, ok(tasuki().args(["cluster", "new", "star:4", "--rate", RATE]))).expect("a file");
    let on_star = seconds(&star, &kernel, Some(&trace));

    let mut plan = tasuki();
    plan.args(["plan", "--hosts", "4", "--nics", "3", "--rate", RATE, "--json", "--for"]).arg(&trace);
    let said = ok(plan.arg("--compare").arg(&star).arg("-o").arg(&best));
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let all = said.as_array().expect("a list");
    let time = |one: &Value| one["program"]["time_us"].as_f64().expect("a time");
    assert!(all.windows(2).all(|two| time(&two[0]) <= time(&two[1])), "{said}");
    let own = all.iter().find(|one| one["what"].as_str().is_some_and(|what| what.ends_with("star.toml")));
    let predicted = time(own.expect("the star is compared")) / time(&all[0]);
    assert!(predicted > 1.5, "three cables per host against one: {predicted}");
    let busiest = &all[0]["program"]["cables"][0];
    assert!(busiest["from"].as_str().is_some_and(|end| end.contains(':')), "{busiest}");

    let on_best = seconds(&best, &kernel, None);
    let measured = on_star / on_best;
    eprintln!("star {on_star:.2} s, best {on_best:.2} s: {measured:.2}, predicted {predicted:.2}");
    assert!(measured > 1.2, "{on_star} s on the star, {on_best} s on the best; predicted {predicted}");
}
