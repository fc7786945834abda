//! Files that ranks need at the same path on every host.

use std::path::{Path, PathBuf};
use tasuki_fleet::{Fleet, HostError, Task};

/// Prints those of its arguments that are no paths of files.
const LACKING: &str = r#"for file; do [ -e "$file" ] || printf '%s\n' "$file"; done"#;
/// Prints the SHA-256 of the file that is its name.
const SUM: &str = r#"sha256sum < "$0""#;
/// Writes standard input to the file that is its name. The file is renamed into its place, because a file of
/// a running program must not be written.
const COPY: &str = r#"mkdir -p "$(dirname "$0")"; new="$0.$$"; trap 'rm -f "$new"' EXIT
cat > "$new"; chmod 755 "$new"; mv -f "$new" "$0""#;

/// Which of these paths each host lacks, by the host's name; hosts that have them all are left out.
///
/// # Errors
/// Of the first host, in the order of the fleet, that cannot be asked.
pub fn lacking(fleet: &Fleet, paths: &[PathBuf]) -> Result<Vec<(String, Vec<PathBuf>)>, HostError> {
    let shell = ["sh", "-c", LACKING, "sh"].map(PathBuf::from);
    let answers = fleet.run_all(&Task::program(shell.iter().chain(paths)));
    let mut all = Vec::new();
    for answer in answers {
        let host = answer.host.clone();
        let missing: Vec<PathBuf> = answer.text()?.lines().map(PathBuf::from).collect();
        if !missing.is_empty() {
            all.push((host, missing));
        }
    }
    Ok(all)
}

/// Copies a program of this machine to the same path on every host that has none there, or another one.
/// Returns the names of these hosts. Hosts that share the folder with this machine have it already.
///
/// # Errors
/// Of the first host, in the order of the fleet, on which it cannot be written, and what to do about it; or
/// of this machine, if the program cannot be read.
pub fn copy_to_all(fleet: &Fleet, program: &Path) -> Result<Vec<String>, HostError> {
    let script = |script: &str| ["sh", "-ec", script].map(PathBuf::from).into_iter().chain([program.into()]);
    let sum = Task::program(script(SUM));
    let own = Fleet::Local.run(0, &sum).text()?;
    let sums = fleet.run_all(&sum).into_iter().map(|answer| answer.text().ok());
    let outdated: Vec<usize> =
        sums.enumerate().filter(|(_, sum)| sum.as_ref() != Some(&own)).map(|(host, _)| host).collect();
    let copy = Task::program(script(COPY)).file(program);
    let mut copied = Vec::new();
    for host in outdated {
        let answer = fleet.run(host, &copy);
        copied.push(answer.host.clone());
        answer.text().map_err(|error| HostError {
            why: format!("cannot put {} there: {}", program.display(), error.why),
            remedy: error.remedy.or_else(|| {
                let folder = program.parent().unwrap_or(program).display();
                Some(format!("let this user write {folder} there, or choose another with XDG_CACHE_HOME"))
            }),
            ..error
        })?;
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tasuki_cluster::Cluster;
    use tasuki_fleet::SshHosts;

    /// Two hosts, reached by a program that stands for ssh: it runs the command in a root folder of the
    /// host's own, `$folder/HOST`.
    fn fleet(folder: &Path) -> Fleet {
        let file = r#"
            [[host]]
            name = "one"
            nic = [{ name = "eth1" }]
            [[host]]
            name = "two"
            nic = [{ name = "eth1" }]
            [[cable]]
            ends = ["one:eth1", "two:eth1"]
        "#;
        let script = r#"while [ "$1" != -- ]; do shift; done
            cd "$0/$2" && shift 2 && exec sh -c "$*""#;
        let ssh = ["sh".into(), "-c".into(), script.into(), folder.display().to_string()];
        for host in ["one", "two"] {
            fs::create_dir(folder.join(host)).unwrap();
        }
        let cluster = Cluster::parse(file, None).unwrap();
        Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh.into(), vec!["tasuki".into()])))
    }

    #[test]
    fn hosts_are_named_with_what_they_lack() {
        let folder = tempfile::tempdir().unwrap();
        let fleet = fleet(folder.path());
        fs::write(folder.path().join("two/a file"), "").unwrap();
        let paths = ["a file", "/etc", "$HOME/'"].map(PathBuf::from);
        let said = lacking(&fleet, &paths).unwrap();
        assert_eq!(
            said,
            [
                ("one".into(), vec![paths[0].clone(), paths[2].clone()]),
                ("two".into(), vec![paths[2].clone()])
            ]
        );
    }

    #[test]
    fn a_host_that_lacks_a_program_gets_it_and_a_host_that_has_it_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let fleet = fleet(folder.path());
        // A relative path leads to another folder on every host; this machine's is that of the tests.
        let program = Path::new("Cargo.toml");
        let text = fs::read_to_string(program).unwrap();
        fs::write(folder.path().join("one/Cargo.toml"), "an older build").unwrap();
        assert_eq!(copy_to_all(&fleet, program).unwrap(), ["one", "two"]);
        for host in ["one", "two"] {
            assert_eq!(fs::read_to_string(folder.path().join(host).join(program)).unwrap(), text);
            assert_eq!(fs::read_dir(folder.path().join(host)).unwrap().count(), 1, "nothing else is left");
        }
        assert_eq!(copy_to_all(&fleet, program).unwrap(), [""; 0]);
    }

    #[test]
    fn a_host_that_takes_no_program_is_named_with_the_path_and_what_helps() {
        let folder = tempfile::tempdir().unwrap();
        let fleet = fleet(folder.path());
        let program = Path::new("src/lib.rs");
        fs::write(folder.path().join("one/src"), "a file, not a folder").unwrap();
        let said = copy_to_all(&fleet, program).unwrap_err().to_string();
        assert!(said.starts_with("one: cannot put src/lib.rs there: exit code 1: mkdir: "), "{said}");
        assert!(said.ends_with("let this user write src there, or choose another with XDG_CACHE_HOME"));
    }
}
