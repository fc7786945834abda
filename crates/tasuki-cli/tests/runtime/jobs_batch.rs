//! What users may want of the queue, in labs: jobs that may run so long, that come after others, that are run
//! once for each index; the history of jobs; and a queue that all this outlives.

use crate::support::{
    TestLab, eventually,
    jobs::{Cluster, JOB_MARK, processes, tasuki_lab_program},
    ok, skip_without_root, text, unique,
};
use std::{collections::BTreeMap, process::Command};

#[test]
fn a_job_that_runs_too_long_is_ended() {
    if skip_without_root("a_job_that_runs_too_long_is_ended") {
        return;
    }
    let cluster = Cluster::up("batch-timeout", 2);
    let mark = unique("job");
    // SIGTERM does not end it.
    let script = "trap '' TERM; while :; do sleep 0.1; done";
    let mut run = cluster.command("run", &["--resident", "--timeout", "1s", "-n", "2", "sh", "-c", script]);
    let output = run.env(JOB_MARK, &mark).output().expect("runs");
    assert_eq!(output.status.code(), Some(124), "{}", text(&output));
    assert!(text(&output).contains("job 1 failed: ran longer than 1s"), "{}", text(&output));
    eventually("nothing is left", || processes(&mark).is_empty());
    let over = cluster.job("1");
    assert_eq!((&over["state"], &over["exit"]), (&"failed".into(), &124.into()));
    assert_eq!(over["reason"], "ran longer than 1s");
    // One that ends in time is done.
    let quick = cluster.submit(&["--timeout", "1h", "-n", "2", "true"]);
    cluster.until(&quick, "done");
    cluster.refused("submit", &["--priority", "2000", "-n", "1", "true"], "a priority is -1000 to 1000");
    cluster.refused("submit", &["--after", "99", "-n", "1", "true"], "there is no job 99");
}

/// The history as CSV: fields by their names, of each job by what it is called.
fn history(cluster: &Cluster) -> BTreeMap<String, BTreeMap<String, String>> {
    let said = ok(&mut cluster.command("jobs", &["--history", "--csv"]));
    let mut lines = said.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let names = lines.next().expect("names");
    let row = |line: Vec<String>| (line[0].clone(), names.iter().cloned().zip(line).collect());
    lines.map(row).collect()
}

#[test]
fn arrays_and_jobs_after_others_outlive_the_queues_daemon() {
    if skip_without_root("arrays_and_jobs_after_others_outlive_the_queues_daemon") {
        return;
    }
    let cluster = Cluster::up("batch-array", 2);
    let (runs, mark) = cluster.script(2, "sleep 1000");
    eventually("both ranks", || processes(&mark).len() >= 2);
    let script = "echo task $TASUKI_ARRAY_INDEX; exit $((TASUKI_ARRAY_INDEX == 3))";
    let array = cluster.submit(&["--name", "sweep", "--array", "1-3%1", "-n", "1", "sh", "-c", script]);
    let after = cluster.submit(&["--after", &array, "-n", "1", "true"]);
    let any = cluster.submit(&["--after-any", &array, "--timeout", "10m", "-n", "1", "echo", "at last"]);
    let later = cluster.submit(&["--begin", "+1000h", "-n", "1", "true"]);
    assert_eq!(cluster.job(&after)["reason"], format!("waits for the end of job {array}"));
    assert_eq!(cluster.job(&array)["terms"]["name"], "sweep");

    cluster.kill_daemon("n1");
    cluster.restart("n1");
    // The job that runs goes on, and the array waits for it as before.
    eventually("both hosts", || cluster.output("hosts", &[]).status.success());
    assert_eq!(cluster.job(&runs)["state"], "running");
    assert!(processes(&mark).len() >= 2);
    ok(&mut cluster.command("cancel", &[&runs]));
    cluster.until(&any, "done");
    assert_eq!(ok(&mut cluster.command("attach", &[&any])), "at last\n");
    for index in ["1", "2"] {
        let said = ok(&mut cluster.command("attach", &[&format!("{array}_{index}")]));
        assert_eq!(said, format!("task {index}\n"));
    }
    cluster.refused("attach", &[&format!("{array}_4")], "there is no task");
    let said = cluster.output("cancel", &["--json", &format!("{array}_4"), "9999"]).stdout;
    let said: serde_json::Value = serde_json::from_slice(&said).expect("JSON");
    let errors = [0, 1].map(|at| said[at]["error"].as_str().expect("an error"));
    assert!(errors[0].contains("there is no task") && errors[1].contains("9999"), "{errors:?}");
    let whole = cluster.until(&array, "failed");
    assert_eq!(whole["reason"], format!("1 of 3 tasks did not end well: {array}_3"));
    assert_eq!(cluster.job(&after)["state"], "cancelled");
    let waiting = cluster.job(&later);
    assert_eq!((&waiting["state"], &waiting["reason"]), (&"waiting".into(), &"waits for its time".into()));

    let rows = history(&cluster);
    let failed = &rows[&format!("{array}_3")];
    assert_eq!((failed["state"].as_str(), failed["exit"].as_str()), ("failed", "1"));
    assert_eq!((failed["name"].as_str(), failed["user"].as_str()), ("sweep", "root"));
    assert!(["n1", "n2"].contains(&failed["hosts"].as_str()) && failed["end"].contains('T'), "{failed:?}");
    assert_eq!(rows[&any]["timeout_s"], "600");
    assert_eq!(rows[&runs]["state"], "cancelled");
    let shown = ok(&mut cluster.command("jobs", &["--history"]));
    assert!(shown.contains("elapsed") && shown.contains("exit"), "{shown}");
}

/// Starts the command of a unit in a host, in the background, as systemd would at its start.
fn start_unit(lab: &TestLab, host: &str, unit: &str) {
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    lab.sh(host, &format!("setsid {command} > /run/unit.log 2>&1 < /dev/null &"));
}

#[test]
fn the_daemons_unit_comes_and_goes() {
    if skip_without_root("the_daemons_unit_comes_and_goes") {
        return;
    }
    let lab = TestLab::up("batch-unit", &["--shape", "full:2", "--bare"]);
    let tasuki = |words: &[&str]| {
        let mut command: Command = crate::support::tasuki();
        command.args(words).args(["--lab", &lab.name]);
        command
    };
    ok(&mut tasuki(&["apply", "--runtime", "--persist", "--unit-dir", "/run/units"]));
    let path = "/run/units/tasukid.service";
    let unit = lab.run("n2", &["cat", path]);
    assert!(unit.contains(" daemon --state-dir /run/tasuki-state/runtime\n"), "{unit}");
    assert!(unit.contains("After=tasuki.service") && unit.contains("Delegate=yes\n"), "{unit}");
    let link = "/run/units/multi-user.target.wants/tasukid.service";
    assert_eq!(lab.run("n2", &["readlink", "-f", link]).trim(), path);

    // After a restart of the machines no daemon runs; the units' own commands start them with what they had.
    for host in ["n1", "n2"] {
        let said = lab.run(host, &[tasuki_lab_program(), "daemon", "--status", "--json"]);
        let notes: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        lab.run(host, &["kill", "-9", &notes[0]["pid"].to_string()]);
    }
    for host in ["n1", "n2"] {
        let status = [tasuki_lab_program(), "daemon", "--status"];
        eventually("no daemon", || !lab.exec(host, &status).output().expect("runs").status.success());
    }
    ["n1", "n2"].iter().for_each(|host| start_unit(&lab, host, &unit));
    eventually("both daemons", || tasuki(&["hosts"]).output().expect("runs").status.success());
    // Applying again, without naming the runtime, leaves the unit where it is.
    ok(&mut tasuki(&["apply"]));
    assert_eq!(lab.run("n2", &["cat", path]), unit);
    ok(&mut tasuki(&["undo"]));
    for host in ["n1", "n2"] {
        lab.sh(host, &format!("test ! -e {path} && test ! -L {link} && test ! -e /run/tasuki-state/runtime"));
        let said = lab.exec(host, &[tasuki_lab_program(), "daemon", "--status"]).output().expect("runs");
        assert!(!said.status.success() && text(&said).contains("no tasukid runs"), "{}", text(&said));
    }
}
