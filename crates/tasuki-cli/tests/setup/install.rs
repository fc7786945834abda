//! `tasuki install` over a real ssh: hosts of a lab, each with a folder of its own that Tasuki goes to.

use crate::support::{TestLab, ok, skip_without_root, ssh::Ssh, text};
use std::process::Command;

/// The program as it was built: hosts of a lab see this machine's files.
const TASUKI: &str = env!("CARGO_BIN_EXE_tasuki");
/// A folder that every host of a lab has for itself.
const PREFIX: &str = "/run/opt/tasuki";
/// Everything below a folder: names, kinds, rights, owners, contents.
const EVERYTHING: &str = "cd /run && find opt 2>/dev/null | sort | xargs -r stat -c '%n %F %a %u %g' && \
                          find opt -type f 2>/dev/null | sort | xargs -r sha256sum; ls -A /run";

struct Hosts {
    lab: TestLab,
    sshd: Ssh,
}

impl Hosts {
    fn up(test: &str) -> Option<Self> {
        let sshd = Ssh::prepare(test)?;
        let lab = TestLab::up("install", &["--shape", "full:3", "--bare"]);
        ["n1", "n2", "n3"].iter().for_each(|host| sshd.serve(&lab, host));
        Some(Self { lab, sshd })
    }

    /// `tasuki install` on the first host; it reaches the others.
    fn install(&self, argv: &[&str]) -> Command {
        let ssh = format!("ssh -F {}/ssh_config", self.sshd.path().display());
        let argv = [&[TASUKI, "install", "--ssh", &ssh], argv].concat();
        let mut command = self.lab.exec("n1", &argv);
        command.current_dir(self.sshd.path());
        command
    }

    fn look(&self) -> Vec<String> {
        ["n2", "n3"].iter().map(|host| self.lab.sh(host, EVERYTHING)).collect()
    }
}

const BOTH: [&str; 2] = ["root@198.18.0.2", "root@198.18.0.3"];

fn reports(command: &mut Command) -> Vec<serde_json::Value> {
    let output = command.output().expect("runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output)))
}

#[test]
fn hosts_get_it_and_are_as_before_when_it_is_taken_away() {
    let test = "hosts_get_it_and_are_as_before_when_it_is_taken_away";
    if skip_without_root(test) {
        return;
    }
    let Some(hosts) = Hosts::up(test) else { return };
    // The second host has a folder with files of others, one of which is replaced.
    let script = r"mkdir -p /run/opt/tasuki/bin /run/opt/tasuki/lib && cd /run/opt/tasuki
        printf '#!/bin/sh\necho tasuki 0.0.9\n' > bin/tasuki
        chmod 750 bin/tasuki && echo mine > lib/other";
    hosts.lab.sh("n2", script);
    let before = hosts.look();
    let argv = [&BOTH[..], &["--prefix", PREFIX, "--json"]].concat();
    let own = hosts.lab.run("n1", &[TASUKI, "--version"]).trim().replace("tasuki ", "");

    let done = reports(&mut hosts.install(&argv));
    let all: Vec<_> = done
        .iter()
        .map(|report| (report["outcome"].as_str(), report["before"].as_str(), report["after"].as_str()))
        .collect();
    let installed = |before| (Some("installed"), before, Some(own.as_str()));
    assert_eq!(all, [installed(Some("0.0.9")), installed(None)], "{done:#?}");
    assert!(
        done[0]["note"].as_str().is_some_and(|note| note.contains("--remote /run/opt/tasuki/bin/tasuki"))
    );
    // It runs there, and finds its provider below its own prefix.
    for host in ["n2", "n3"] {
        let said = hosts.lab.run(host, &["/run/opt/tasuki/bin/tasuki", "--version"]);
        assert_eq!(said.trim(), format!("tasuki {own}"));
        hosts.lab.run(host, &["test", "-s", "/run/opt/tasuki/lib/tasuki/libfabric/libfabric.so.1"]);
    }

    // Again: nothing to do. By force: again, and the first state is not forgotten.
    let again = reports(&mut hosts.install(&argv));
    assert!(again.iter().all(|report| report["outcome"] == "same"), "{again:#?}");
    let forced = reports(&mut hosts.install(&[&argv[..], &["--force"]].concat()));
    assert!(forced.iter().all(|report| report["outcome"] == "installed"), "{forced:#?}");

    let removed = reports(&mut hosts.install(&[&argv[..], &["--remove"]].concat()));
    assert!(removed.iter().all(|report| report["outcome"] == "removed"), "{removed:#?}");
    assert_eq!((removed[0]["after"].as_str(), hosts.look()), (Some("0.0.9"), before));
    let absent = reports(&mut hosts.install(&[&argv[..], &["--remove"]].concat()));
    assert!(absent.iter().all(|report| report["outcome"] == "absent"), "{absent:#?}");
}

#[test]
fn an_installation_that_is_killed_at_any_command_can_be_taken_back() {
    let test = "an_installation_that_is_killed_at_any_command_can_be_taken_back";
    if skip_without_root(test) {
        return;
    }
    let Some(hosts) = Hosts::up(test) else { return };
    hosts.lab.sh("n2", "mkdir -p /run/opt/tasuki/bin && echo old > /run/opt/tasuki/bin/tasuki");
    let before = hosts.look();
    let argv = [BOTH[0], "--prefix", PREFIX, "--json"];
    // In the place of a command that the script calls stands one that kills the script first. A login's own
    // shell may call the same commands: it is no `sh`.
    let calls = [
        ("mkdir", 1),
        ("mkdir", 2),
        ("tar", 1),
        ("sort", 1),
        ("cp", 1),
        ("mv", 1),
        ("mv", 2),
        ("mv", 4),
        ("rm", 1),
    ];
    for (command, call) in calls {
        let trap = format!(
            r"mkdir -p /run/real /run/trap && cp /usr/bin/{command} /run/real/
            cat > /run/trap/{command} && chmod +x /run/trap/{command}
            mount --bind /run/trap/{command} /usr/bin/{command}"
        );
        let script = format!(
            "#!/bin/sh\nread -r name < /proc/$PPID/comm\nif [ $name = sh ]; then\n    echo x >> \
             /run/trap/calls\n    [ $(wc -l < /run/trap/calls) != {call} ] || kill -9 $PPID\nfi\nexec \
             /run/real/{command} \"$@\"\n"
        );
        let trap = format!("printf %s {} | ({trap})", tasuki_process::quote(script.as_ref()));
        hosts.lab.sh("n2", &trap);
        let cut = reports(&mut hosts.install(&argv));
        hosts.lab.sh("n2", &format!("umount -l /usr/bin/{command} && /usr/bin/rm -rf /run/trap /run/real"));
        assert_eq!(cut[0]["outcome"], "failed", "{command} {call}: {cut:#?}");
        let removed = reports(&mut hosts.install(&[&argv[..], &["--remove"]].concat()));
        assert_ne!(removed[0]["outcome"], "failed", "{command} {call}: {removed:#?}");
        assert_eq!(hosts.look(), before, "{command} {call}");
    }
    // After all of this it can be installed.
    ok(&mut hosts.install(&argv));
}

/// The command is there last, so that an installation that was cut off is not taken for one that is whole.
#[test]
fn an_installation_that_was_cut_off_is_made_whole_by_the_next_one() {
    let test = "an_installation_that_was_cut_off_is_made_whole_by_the_next_one";
    if skip_without_root(test) {
        return;
    }
    let Some(hosts) = Hosts::up(test) else { return };
    let argv = [BOTH[0], "--prefix", PREFIX, "--json"];
    let all = "cd /run/opt/tasuki && find . -type f | grep -v tasuki-install | sort";
    ok(&mut hosts.install(&argv));
    let whole = hosts.lab.sh("n2", all);
    ok(&mut hosts.install(&[&argv[..], &["--remove"]].concat()));
    // The script is killed at its fourth move.
    hosts.lab.sh("n2", "mkdir -p /run/real && cp /usr/bin/mv /run/real/ && mkdir -p /run/trap");
    let script = "#!/bin/sh\necho x >> /run/trap/calls\n[ $(wc -l < /run/trap/calls) != 4 ] || \
                  kill -9 $PPID\nexec /run/real/mv \"$@\"\n";
    let script = tasuki_process::quote(script.as_ref());
    hosts.lab.sh("n2", &format!("printf %b {script} > /run/trap/mv && chmod +x /run/trap/mv"));
    hosts.lab.sh("n2", "mount --bind /run/trap/mv /usr/bin/mv");
    let cut = reports(&mut hosts.install(&argv));
    hosts.lab.sh("n2", "umount -l /usr/bin/mv");
    assert_eq!(cut[0]["outcome"], "failed", "{cut:#?}");
    let again = reports(&mut hosts.install(&argv));
    assert_eq!(again[0]["outcome"], "installed", "{again:#?}");
    assert_eq!(hosts.lab.sh("n2", all), whole);
}

#[test]
fn the_first_error_says_host_cause_and_remedy() {
    let test = "the_first_error_says_host_cause_and_remedy";
    if skip_without_root(test) {
        return;
    }
    let Some(hosts) = Hosts::up(test) else { return };
    let refused = |argv: &[&str], words: &[&str]| {
        let output = hosts.install(argv).output().expect("runs");
        let said = text(&output);
        assert!(!output.status.success(), "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "{word:?} is not in: {said}"));
    };
    // A name that is mistyped, beside a host that gets it all the same.
    refused(
        &["root@n9.invalid", BOTH[1], "--prefix", PREFIX],
        &[
            "root@n9.invalid: it does not answer",
            "try `ssh root@n9.invalid true`",
            "~/.ssh/config",
            "installed",
        ],
    );
    // Nothing listens there.
    refused(&["root@198.18.0.77", "--prefix", PREFIX], &["root@198.18.0.77: it does not answer"]);
    // Another processor.
    hosts.lab.sh(
        "n2",
        r#"printf '#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || echo n2\n' > /run/uname && chmod +x /run/uname
        mount --bind /run/uname /usr/bin/uname"#,
    );
    refused(&[BOTH[0], "--prefix", PREFIX], &["its processor is riscv64", "build Tasuki on such a machine"]);
    hosts.lab.sh("n2", "umount /usr/bin/uname && rm /run/uname");
    // A folder that cannot be written, and one that is a file.
    refused(&[BOTH[0], "--prefix", "/proc/tasuki"], &["cannot write below /proc", "--prefix"]);
    refused(&[BOTH[0], "--prefix", "opt"], &["name a folder from / on"]);
    refused(&[BOTH[0], "--deb", "absent.deb"], &["there is no absent.deb", "make deb"]);
}
