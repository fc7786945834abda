//! Jobs on two hosts that share this machine, reached by a program that stands for ssh: output and exit codes
//! come back, and whatever fails, the job ends everywhere.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use tasuki_cluster::Cluster;
use tasuki_fleet::{Fleet, SshHosts};
use tasuki_job::{PlainJob, PlainPart};
use tasuki_ranks::{Ended, Options, RanksError, run_job};

/// Much longer than anything takes; it keeps a hang from stopping the tests.
const LIMIT: Duration = Duration::from_secs(120);

const FILE: &str = r#"
    [[host]]
    name = "one"
    nic = [{ name = "eth1" }]
    [[host]]
    name = "two"
    nic = [{ name = "eth1" }]
    [[cable]]
    ends = ["one:eth1", "two:eth1"]
"#;
/// Greets as a start file of a shell may, and runs the command that follows `-- HOST`.
const SSH: &str = r#"while [ "$1" != -- ]; do shift; done; shift 2; echo "Welcome"; eval "exec $*""#;

fn fleet(ssh: &str) -> Fleet {
    let cluster = Cluster::parse(FILE, None).unwrap();
    let ssh = ["sh", "-c", ssh, "ssh"].map(str::to_owned).to_vec();
    let tasuki = vec![env!("CARGO_BIN_EXE_tasuki-ranks").to_owned()];
    Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh, tasuki)))
}

/// A job of four ranks, two on each host, that run a script.
fn job(script: &str, folder: &Path) -> PlainJob {
    PlainJob {
        argv: ["/bin/sh", "-c", script].map(Into::into).to_vec(),
        folder: folder.into(),
        env: vec![("MASTER_ADDR".into(), "127.0.0.1".into())],
        folders: vec![("PATH".into(), "/no/such/folder".into())],
        port: None,
        parts: vec![PlainPart { host: 0, ranks: vec![0, 2] }, PlainPart { host: 1, ranks: vec![1, 3] }],
    }
}

fn run(fleet: &Fleet, job: PlainJob, options: Options) -> (Result<Ended, RanksError>, String) {
    let mut said = Vec::new();
    let ended = run_job(job, fleet, options, &mut |_, bytes| {
        said.extend_from_slice(bytes);
        Ok(())
    });
    (ended, String::from_utf8(said).unwrap())
}

/// The processes whose numbers ranks have written to files of a folder, by the files' names.
fn processes(folder: &Path) -> BTreeMap<String, PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let process = |file: PathBuf| {
        let number = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        (name, Path::new("/proc").join(number.trim()))
    };
    files.map(process).collect()
}

/// Waits until none of them is left.
fn wait_until_gone(processes: &BTreeMap<String, PathBuf>) {
    let end = Instant::now() + LIMIT;
    while let Some((name, _)) = processes.iter().find(|(_, process)| process.exists()) {
        assert!(Instant::now() < end, "process {name} is left");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A script whose ranks write their numbers down, with a child's in the background, and wait for those of
/// all; then `then` runs in rank 1, and the others wait for ever.
fn lasting(then: &str) -> String {
    format!(
        "sleep 1000 & echo $! > child$RANK.new; mv child$RANK.new child$RANK; echo $$ > rank$RANK.new
         mv rank$RANK.new rank$RANK
         until [ -e rank0 -a -e rank1 -a -e rank2 -a -e rank3 ]; do sleep 0.01; done
         if [ $RANK = 1 ]; then {then}; fi; while :; do sleep 1000; done"
    )
}

#[test]
fn ranks_find_each_other_by_their_environment() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $WORLD_SIZE $LOCAL_RANK $NODE_RANK $MASTER_ADDR $MASTER_PORT; pwd; \
                  case $PATH in *:/no/such/folder) ;; *) echo $PATH;; esac";
    let options = Options { label: true, timeout: None };
    let (ended, said) = run(&fleet(SSH), job(script, folder.path()), options);
    assert_eq!(ended.unwrap(), Ended { code: 0, why: None });
    let mut lines: Vec<_> = said.lines().collect();
    lines.sort_unstable();
    let first = lines.iter().find(|line| line.starts_with("[0] 4 ")).expect("a line of rank 0");
    let port: u16 = first.rsplit(' ').next().unwrap().parse().unwrap();
    let mut expected: Vec<_> = [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
        .into_iter()
        .flat_map(|(rank, local, node)| {
            let place = folder.path().display();
            [format!("[{rank}] 4 {local} {node} 127.0.0.1 {port}"), format!("[{rank}] {place}")]
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn a_rank_that_fails_ends_the_others_and_what_they_left_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    for (then, code, how) in
        [("exit 7", 7, "ended with exit code 7"), ("kill -9 $$", 137, "was killed by signal 9")]
    {
        let (ended, _) = run(&fleet(SSH), job(&lasting(then), folder.path()), Options::default());
        let why = Some(format!("rank 1 on two {how}"));
        assert_eq!(ended.unwrap(), Ended { code, why });
        let all = processes(folder.path());
        assert_eq!(all.len(), 8);
        wait_until_gone(&all);
        fs::read_dir(folder.path()).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    }
}

#[test]
fn a_job_that_runs_too_long_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { label: false, timeout: Some(Duration::from_millis(1)) };
    let (ended, _) = run(&fleet(SSH), job("while :; do sleep 1000; done", folder.path()), options);
    let ended = ended.unwrap();
    assert_eq!((ended.code, ended.why.as_deref()), (124, Some("it ran for longer than 0.001 s")));
}

/// Rank 1 kills the agent of its host, the parent of the shepherd that is its own parent: the shepherd ends
/// the ranks there, and the owner those of the other host.
#[test]
fn a_host_that_is_lost_ends_the_job_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let then = "kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat)";
    let (ended, _) = run(&fleet(SSH), job(&lasting(then), folder.path()), Options::default());
    let ended = ended.unwrap();
    assert_eq!((ended.code, ended.why.as_deref()), (1, Some("two is not reached any more: its agent ended")));
    let all = processes(folder.path());
    assert_eq!(all.len(), 8);
    wait_until_gone(&all);
}

#[test]
fn hosts_that_do_not_answer_are_named_and_no_rank_begins() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = format!("case \"$*\" in *'-- two'*) echo 'No route to host' >&2; exit 255;; esac; {SSH}");
    let (ended, said) = run(&fleet(&ssh), job("echo begun", folder.path()), Options::default());
    let error = ended.unwrap_err().to_string();
    assert_eq!((error.as_str(), said.as_str()), ("two: it does not answer: No route to host", ""));
}

#[test]
fn a_program_that_cannot_be_started_is_named_with_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let job = PlainJob { folder: folder.path().join("absent"), ..job("true", folder.path()) };
    let ended = run(&fleet(SSH), job, Options::default()).0.unwrap();
    let why = ended.why.unwrap();
    assert!(ended.code == 1 && why.contains(" was not started: "), "{why}");
    assert!(why.contains("working directory"), "{why}");
}
