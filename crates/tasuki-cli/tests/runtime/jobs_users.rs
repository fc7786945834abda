//! What a site asks of a queue, in labs: users are told of the end of their jobs, and their jobs take no more
//! than the cluster file allows.

use crate::support::{eventually, jobs::Cluster, ok, skip_without_root, text};
use serde_json::Value;
use std::fs;

/// A server of HTTP by Python's own library: writes down each request, and answers 503 to the first one.
const SERVER: &str = r#"
import http.server, json, os
class Handler(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Handler.count += 1
        with open("/run/told", "a") as told:
            told.write(json.dumps([self.path, self.headers["Content-Type"], body]) + "\n")
        self.send_response(503 if Handler.count == 1 else 200)
        self.end_headers()
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 8099), Handler)
if os.fork() == 0:
    os.setsid()
    server.serve_forever()
"#;

/// Waits until it is known whether the user of a job was told of its end.
fn notice(cluster: &Cluster, job: &str) -> Value {
    eventually(&format!("the notice of job {job}"), || !cluster.job(job)["notice"].is_null());
    cluster.job(job)["notice"].clone()
}

#[test]
fn a_server_is_told_of_the_end_of_a_job() {
    if skip_without_root("a_server_is_told_of_the_end_of_a_job") {
        return;
    }
    let cluster = Cluster::up("users-http", 2);
    cluster.lab.run("n1", &["sh", "-c", "python3 -c \"$0\" > /dev/null 2>&1 < /dev/null", SERVER]);
    let hook = "http://127.0.0.1:8099/hook?a=b";
    let job = cluster.submit(&["--notify", hook, "--name", "night", "-n", "2", "sh", "-c", "exit 3"]);
    cluster.until(&job, "failed");
    assert_eq!(notice(&cluster, &job), "told", "the first answer was 503, and it was tried again");
    let told = cluster.lab.sh("n1", "cat /run/told");
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    for request in told {
        assert_eq!((&request[0], &request[1]), (&"/hook?a=b".into(), &"application/json".into()));
        let record = &request[2];
        assert_eq!(
            (record["label"].as_str(), record["state"].as_str()),
            (Some(job.as_str()), Some("failed"))
        );
        assert_eq!((&record["exit"], &record["terms"]["name"]), (&3.into(), &"night".into()));
    }
    // Where a user is told is no other user's to know.
    let listed = |user: &str| ok(&mut cluster.as_user(user, "n1", &["jobs", "--history", "--json"]));
    let (own, others) = (listed("root"), listed("nobody"));
    assert!(own.contains("/hook?a=b") && !others.contains("hook"), "{others}");
    assert!(others.contains("http://127.0.0.1:8099/..."), "{others}");
    // Of an array one word, and no word of jobs that did not ask.
    let array = cluster.submit(&["--notify", hook, "--array", "0-2", "-n", "1", "true"]);
    cluster.until(&array, "done");
    assert_eq!(notice(&cluster, &array), "told");
    assert_eq!(cluster.lab.sh("n1", "wc -l < /run/told").trim(), "3");

    // What nobody takes is known, listed, and holds up nothing.
    let deaf = cluster.submit(&["--notify", "http://127.0.0.1:8098/", "-n", "1", "true"]);
    let next = cluster.submit(&["-n", "2", "true"]);
    cluster.until(&next, "done");
    assert_eq!(cluster.job(&deaf)["state"], "done");
    let why = notice(&cluster, &deaf);
    assert!(why["failed"].as_str().is_some_and(|why| why.contains("(3 tries)")), "{why}");
    let said = text(&cluster.output("jobs", &[]));
    assert!(said.contains("of 1 job the end could not be told"), "{said}");
    let said = text(&cluster.output("jobs", &["--history"]));
    assert!(said.contains("its end was not told"), "{said}");
    cluster.refused("submit", &["--notify", "file:///etc/passwd", "-n", "1", "true"], "mailto:USER@HOST");
}

#[test]
fn a_users_mailer_runs_as_the_user() {
    if skip_without_root("a_users_mailer_runs_as_the_user") {
        return;
    }
    let cluster = Cluster::up("users-mail", 2);
    let mailer = "#!/bin/sh\n{ id -un; id -G; echo $*; cat; } > /run/mail/$(id -un)\n";
    cluster.lab.sh("n1", "mkdir -p /run/mail /run/bin && chmod 1777 /run/mail && chmod 755 /run/bin");
    cluster
        .lab
        .sh("n1", &format!("printf '%s' '{mailer}' > /run/bin/sendmail && chmod 755 /run/bin/sendmail"));
    let ask = ["submit", "--notify", "mailto:me@example.org", "-n", "2", "true"];
    let mut command = cluster.as_user("nobody", "n2", &ask);
    let job = ok(command.env("PATH", "/run/bin:/usr/bin:/bin")).trim().to_owned();
    assert_eq!(notice(&cluster, &job), "told");
    let mail = cluster.lab.sh("n1", "cat /run/mail/nobody");
    let groups = cluster.lab.sh("n1", "id -G nobody");
    let expected = format!("nobody\n{groups}-i -- me@example.org\nTo: me@example.org\n");
    assert!(mail.starts_with(&expected), "{mail}");
    assert!(mail.contains(&format!("Subject: tasuki: job {job} done\n")), "{mail}");
    assert!(mail.contains(&format!("Job {job} of nobody is over: done, exit code 0\n")), "{mail}");
    // Root's jobs are told of without root's rights, and not by what root's PATH leads to.
    let mut command = cluster.command("submit", &["--notify", "mailto:me@example.org", "-n", "1", "true"]);
    let job = ok(command.env("PATH", "/run/bin:/usr/bin:/bin")).trim().to_owned();
    notice(&cluster, &job);
    assert_eq!(cluster.lab.sh("n1", "ls /run/mail").trim(), "nobody");
}

#[test]
fn users_have_the_limits_of_the_cluster_file() {
    if skip_without_root("users_have_the_limits_of_the_cluster_file") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    let mut text_of_file = ok(crate::support::tasuki().args(["cluster", "new", "full:4", "--cores", "1"]));
    text_of_file +=
        "\n[queue]\njobs_per_user = 2\nslots_per_user = 3\nwaiting_per_user = 1\ntime_max = \"2h\"\n";
    fs::write(&file, text_of_file).expect("writes");
    let cluster = Cluster::of_file("users-limits", &file);
    let said = ok(&mut cluster.command("hosts", &[]));
    let words = "each user but root: at most 2 jobs that run, at most 3 slots, at most 1 jobs that wait, \
                 jobs of at most 2h";
    assert!(said.contains(words), "{said}");
    let submit = |user: &str, words: &[&str]| {
        let all = [&["submit"], words].concat();
        cluster.as_user(user, "n1", &all).output().expect("runs")
    };
    let number = |user: &str, words: &[&str]| {
        let output = submit(user, words);
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let refused = |user: &str, words: &[&str], why: &str| {
        let output = submit(user, words);
        assert!(!output.status.success() && text(&output).contains(why), "{why}: {}", text(&output));
    };
    let sleep = |ranks| ["-n", ranks, "sleep", "1000"];
    refused("nobody", &sleep("4"), "4 slots are more than the 3 that jobs of a user may hold together");
    refused("nobody", &["--timeout", "3h", "-n", "1", "true"], "3h is longer than the 2h that a job may run");
    let first = number("nobody", &sleep("2"));
    cluster.until(&first, "running");
    assert_eq!(cluster.job(&first)["terms"]["timeout"], 7200);
    let second = number("nobody", &sleep("2"));
    let why = "waits for 2 slots: jobs of nobody hold 2, of 3 that a user may have";
    assert_eq!(cluster.until(&second, "waiting")["reason"], why);
    refused("nobody", &sleep("1"), "nobody has 1 jobs waiting, of 1 that a user may have");
    // Another user's job is not held up by it, and root has no limits.
    let other = number("daemon", &sleep("1"));
    cluster.until(&other, "running");
    let roots = cluster.submit(&["--timeout", "3h", "-n", "4", "true"]);
    ok(&mut cluster.command("cancel", &[&first]));
    cluster.until(&second, "running");
    ok(&mut cluster.command("cancel", &[&second, &other]));
    cluster.until(&roots, "done");
}
