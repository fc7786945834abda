//! Other users of the machine who hold a lab's name: nothing is sent to them, and no command waits for them.

use crate::support::{Background, TestLab, ok, skip_without_root, tasuki, text, unique};
use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

/// Binds the name of a lab as this user and listens. Prints that it does, then what each connection brought:
/// bytes and open files. `full`: nothing is accepted, and the queue of connections is full.
const IMPOSTOR: &str = "import os, signal, socket, sys
name, user, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if how == 'named': open('/proc/self/comm', 'w').write('tasuki-lab')
os.setresuid(user, user, user)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind('\\0tasuki-lab/' + name)
listener.listen(0 if how == 'full' else 16)
if how == 'full':
    queued = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    queued.connect('\\0tasuki-lab/' + name)
print('listening', flush=True)
while how != 'full':
    taken, _ = listener.accept()
    data, control, _, _ = taken.recvmsg(65536, 4096)
    files = sum(len(part[2]) // 4 for part in control)
    print(len(data), files, flush=True)
signal.pause()
";

struct Impostor {
    process: Background,
    said: BufReader<std::process::ChildStdout>,
}

impl Impostor {
    fn start(name: &str, user: u32, how: &str) -> Self {
        Self::start_by(Command::new("python3"), name, user, how)
    }

    /// Starts the impostor by `python`, a command that runs Python with the arguments that follow.
    fn start_by(mut python: Command, name: &str, user: u32, how: &str) -> Self {
        python.args(["-c", IMPOSTOR, name, &user.to_string(), how]);
        python.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = Background(python.spawn().expect("python3 starts"));
        let said = BufReader::new(process.0.stdout.take().expect("piped"));
        let mut impostor = Self { process, said };
        assert_eq!(impostor.line(), "listening");
        impostor
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("reads");
        line.trim().to_owned()
    }
}

/// `tasuki` must fail, within a time limit that only a hang exceeds, and its output must have all of these
/// texts.
fn fails(argv: &[&str], expected: &[&str]) {
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_tasuki")]).args(argv).stdin(Stdio::null());
    let output = command.output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success() && output.status.code() != Some(124), "{argv:?}: {said}");
    for word in expected {
        assert!(said.contains(word), "{argv:?}: {word:?} is not in: {said}");
    }
}

/// Root's commands hand a lab their open files and environment. A user who holds the lab's name gets a
/// connection, and not a byte.
#[test]
fn nothing_is_sent_to_who_is_no_lab() {
    if skip_without_root("nothing_is_sent_to_who_is_no_lab") {
        return;
    }
    // Root without a lab; root that gives its process the name of one; and a user, who is the attacker.
    for (user, how) in [(0, "plain"), (0, "named"), (65_534, "plain"), (65_534, "named")] {
        let name = unique("b-posed");
        let mut impostor = Impostor::start(&name, user, how);
        let pid = impostor.process.0.id().to_string();
        let user = user.to_string();
        let expected =
            ["taken by process", pid.as_str(), &format!("of user {user}"), "choose another --name"];
        fails(&["lab", "exec", "--lab", &name, "n1", "--", "true"], &expected);
        assert_eq!(impostor.line(), "0 0", "bytes and files that came by lab exec");
        fails(&["lab", "status", &name], &expected);
        assert_eq!(impostor.line(), "0 0");
        fails(&["lab", "down", &name], &expected);
        assert_eq!(impostor.line(), "0 0");
        fails(&["lab", "up", "--shape", "full:2", "--name", &name], &expected);
        assert_eq!(impostor.line(), "0 0");
        let listed = ok(tasuki().args(["lab", "list"]));
        assert!(!listed.lines().any(|line| line == name), "{listed}");
        assert_eq!(impostor.line(), "0 0");
    }
}

/// Root in a container has few capabilities and may be the first process of a PID namespace. If the container
/// shares the machine's network, it can bind the name.
#[test]
fn root_in_a_container_is_no_lab() {
    if skip_without_root("root_in_a_container_is_no_lab") {
        return;
    }
    let name = unique("b-container");
    let mut python = Command::new("unshare");
    python.args(["--pid", "--fork", "--kill-child", "setpriv", "--bounding-set=-all", "python3"]);
    let mut impostor = Impostor::start_by(python, &name, 0, "named");
    fails(&["lab", "exec", "--lab", &name, "n1", "--", "true"], &["fewer rights"]);
    assert_eq!(impostor.line(), "0 0");
}

/// A listener that accepts nothing delays no command.
#[test]
fn a_deaf_impostor_is_not_waited_for() {
    if skip_without_root("a_deaf_impostor_is_not_waited_for") {
        return;
    }
    let name = unique("b-deaf");
    let _impostor = Impostor::start(&name, 65_534, "full");
    fails(&["lab", "exec", "--lab", &name, "n1", "--", "true"], &["takes no connections"]);
    let listed = ok(tasuki().args(["lab", "list"]));
    assert!(!listed.lines().any(|line| line == name), "{listed}");
}

/// The only lab that is up is used if none is named: an impostor neither becomes that lab nor makes the
/// choice ambiguous. The test runs in a network of its own, where no other test has labs.
#[test]
fn impostors_are_not_counted_as_labs() {
    if skip_without_root("impostors_are_not_counted_as_labs") {
        return;
    }
    let script =
        "impostor() { python3 -c \"$IMPOSTOR\" \"$1\" 65534 plain > /tmp/$1 & until [ -s /tmp/$1 ]; \
    do sleep 0.02; done; }
        unset TASUKI_TEST_MARK
        impostor b-one-$$; impostor b-two-$$
        $TASUKI lab exec n1 -- true && exit 1
        $TASUKI lab up --shape full:2 --name b-true-$$ && $TASUKI lab exec n1 -- true; code=$?
        $TASUKI lab list; $TASUKI lab down b-true-$$
        kill $(jobs -p); cat /tmp/b-one-$$ /tmp/b-two-$$; rm /tmp/b-one-$$ /tmp/b-two-$$; exit $code";
    let mut shell = Command::new("unshare");
    shell.args(["--net", "bash", "-c", script]).env("IMPOSTOR", IMPOSTOR);
    shell.env("TASUKI", env!("CARGO_BIN_EXE_tasuki")).stdin(Stdio::null());
    let output = shell.output().expect("runs");
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("no lab is up"), "{said}");
    let listed: Vec<_> = said.lines().filter(|line| line.starts_with("b-")).collect();
    assert!(listed.len() == 1 && listed[0].starts_with("b-true-"), "{said}");
    // Each impostor was looked at, and got nothing.
    assert!(said.lines().filter(|line| *line == "0 0").count() >= 2, "{said}");
    assert!(!said.lines().any(|line| line.starts_with("1 ")), "{said}");
}

/// A user who is not root is told that root is needed, whatever the user asks of a lab that is up.
#[test]
fn a_user_is_told_that_labs_need_root() {
    if skip_without_root("a_user_is_told_that_labs_need_root") {
        return;
    }
    let lab = TestLab::up("b-user", &["--shape", "full:2"]);
    let asked: [&[&str]; 6] = [
        &["lab", "exec", "--lab", &lab.name, "n1", "--", "true"],
        &["lab", "status", &lab.name],
        &["lab", "cut", "--lab", &lab.name, "all"],
        &["lab", "down", &lab.name],
        &["stats", "--lab", &lab.name],
        &["run", "--lab", &lab.name, "-n", "2", "--mpi", "openmpi-4.1", "--transport", "tcp", "true"],
    ];
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    // The folder of the build may be closed to other users.
    let program = folder.path().join("tasuki");
    std::fs::copy(env!("CARGO_BIN_EXE_tasuki"), &program).expect("copies");
    ok(Command::new("chmod").arg("755").args([folder.path(), &program]));
    for argv in asked {
        let mut user = Command::new("setpriv");
        user.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(argv);
        let output = user.current_dir("/").stdin(Stdio::null()).output().expect("runs");
        let said = text(&output);
        assert!(!output.status.success() && said.contains("needs root"), "{argv:?}: {said}");
    }
    // Listing labs is harmless.
    let mut user = Command::new("setpriv");
    user.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program).args(["lab", "list"]);
    assert!(ok(user.current_dir("/")).lines().any(|line| line == lab.name));
}
