//! What launchers of MPIs call in the place of ssh, so that they reach hosts as the cluster file says: at
//! their `management`, with their user, port and jump hosts. Launchers take the path of a program and no
//! arguments, so what it needs to know lies beside it, in a folder that is made for one launch and closed to
//! others.

use crate::SshHosts;
use std::{
    convert::Infallible,
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};
use tasuki_cluster::Cluster;
use tasuki_lab::SshCall;
use tasuki_process::{program_in, quote};
use tempfile::TempDir;

/// The name by which this program knows that it was called in the place of ssh.
const NAME: &str = "tasuki-ssh";
/// The cluster file beside it.
const CLUSTER: &str = "cluster.toml";
/// ssh and options for it, beside it, if they are other than plain: a list in JSON.
const SSH: &str = "ssh.json";
/// The exit code of an ssh that reaches nobody (ssh(1)).
const FAILED: u8 = 255;

/// A link to this program that stands for ssh, with what it needs to know. It goes with this value.
#[derive(Debug)]
pub struct RemoteShell {
    folder: TempDir,
    program: PathBuf,
    /// The cluster file that the user named.
    source: Option<PathBuf>,
}

impl RemoteShell {
    /// Makes one that reaches the hosts of a cluster by `ssh` (program and options).
    pub(crate) fn new(cluster: &Cluster, ssh: &[String]) -> io::Result<Self> {
        let closed = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("tasuki-ssh-").permissions(closed).tempdir()?;
        let program = env::current_exe()?;
        symlink(&program, folder.path().join(NAME))?;
        fs::write(folder.path().join(CLUSTER), cluster.to_toml())?;
        // By its path: launchers put folders of their own in front of PATH for what they call.
        let folders = env::var_os("PATH").unwrap_or_default();
        let mut ssh = ssh.to_vec();
        let named = ssh.first_mut().filter(|program| !program.contains('/'));
        if let Some(program) = named
            && let Some(path) = program_in(env::split_paths(&folders), &*program)
        {
            *program = path.to_string_lossy().into_owned();
        }
        fs::write(folder.path().join(SSH), serde_json::to_string(&ssh)?)?;
        Ok(Self { folder, program, source: cluster.source.clone() })
    }

    /// The path that a launcher is to call.
    pub fn path(&self) -> String {
        self.folder.path().join(NAME).to_string_lossy().into_owned()
    }

    /// Words of a shell that make another one, which stays, and give its path. `None`: they need a cluster
    /// file, and there is none.
    pub fn by_hand(&self) -> Option<String> {
        let source = std::path::absolute(self.source.as_ref()?).ok()?;
        let [program, file] = [&self.program, &source].map(|path| quote(path.as_os_str()));
        Some(format!(
            "\"$(d=$(mktemp -d) && ln -s {program} \"$d/{NAME}\" && cp {file} \"$d/{CLUSTER}\" && \
             echo \"$d/{NAME}\")\""
        ))
    }
}

/// Takes the place of ssh if this process was called by the path of a [`RemoteShell`], `name`, with the
/// arguments `argv`: this returns only with the exit code of a failure. `None`: it was called otherwise.
pub fn remote_shell_main(name: &OsStr, argv: impl Iterator<Item = OsString>) -> Option<u8> {
    let path = Path::new(name);
    if path.file_name()? != NAME {
        return None;
    }
    let Err(error) = reach(path, argv.collect());
    eprintln!("tasuki: {error}");
    Some(FAILED)
}

fn reach(path: &Path, argv: Vec<OsString>) -> Result<Infallible, String> {
    let mut command = in_place_of_ssh(path, argv, nix::unistd::geteuid().is_root())?;
    let error = command.exec();
    Err(format!("cannot run {}: {error}", command.get_program().display()))
}

/// The command that a call of the program at `path` stands for.
fn in_place_of_ssh(path: &Path, argv: Vec<OsString>, is_root: bool) -> Result<Command, String> {
    let call = SshCall::parse(argv).ok_or_else(|| format!("usage: {NAME} [OPTIONS] HOST COMMAND..."))?;
    let cluster = Cluster::load(path.with_file_name(CLUSTER)).map_err(|error| error.to_string())?;
    let mut hosts = SshHosts::new(cluster);
    if let Ok(text) = fs::read_to_string(path.with_file_name(SSH)) {
        let ssh: Vec<String> = serde_json::from_str(&text).map_err(|error| format!("{SSH}: {error}"))?;
        if !ssh.is_empty() {
            hosts = SshHosts::through(hosts.cluster, ssh, Vec::new());
        }
    }
    hosts.of_launcher(&call, is_root)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        [ssh]
        port = 2222
        [[host]]
        name = "n2"
        management = "me@198.51.100.2"
        nic = [{ name = "eth1" }]
    "#;

    fn line(command: &Command) -> String {
        let words = [command.get_program()].into_iter().chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_call_becomes_the_ssh_that_the_file_asks_for_and_nothing_stays() {
        let cluster = Cluster::parse(FILE, None).unwrap();
        let ssh = ["ssh", "-F", "my config"].map(str::to_owned).to_vec();
        let hosts = SshHosts::through(cluster, ssh, Vec::new());
        let shell = hosts.remote_shell().unwrap().unwrap();
        let path = PathBuf::from(shell.path());
        assert_eq!(hosts.clone().remote_shell().unwrap().unwrap().path(), shell.path(), "one for all copies");
        assert_eq!(fs::read_link(&path).unwrap(), env::current_exe().unwrap());
        let folder = path.parent().unwrap().to_owned();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o77, 0, "closed to others");
        let argv = ["-x", "n2", "orted", "\"a\""].map(OsString::from).to_vec();
        let said = line(&in_place_of_ssh(&path, argv, false).unwrap());
        let (program, rest) = said.split_once(' ').unwrap();
        assert!(Path::new(program).is_absolute() && program.ends_with("/ssh"), "{said}");
        assert!(rest.starts_with("-F my config -x -o BatchMode=yes"), "{said}");
        assert!(said.ends_with("-p 2222 -l me -- 198.51.100.2 orted \"a\""), "{said}");
        drop(hosts);
        assert!(!folder.exists());
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in ["tasuki", "/usr/bin/tasuki", "/tmp/tasuki-agent", ""] {
            assert_eq!(remote_shell_main(OsStr::new(name), [].into_iter()), None, "{name}");
        }
        // Without the folder there is no cluster file, and without a host nothing to reach.
        let argv = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>().into_iter();
        let gone = OsStr::new("/no/such/folder/tasuki-ssh");
        assert_eq!(remote_shell_main(gone, argv(&["n2", "true"])), Some(255));
        assert_eq!(remote_shell_main(gone, argv(&["-x"])), Some(255));
    }

    #[test]
    fn words_of_a_shell_make_one_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it's my.toml");
        fs::write(&file, FILE).unwrap();
        let hosts = SshHosts::new(Cluster::load(&file).unwrap());
        let words = hosts.remote_shell().unwrap().unwrap().by_hand().unwrap();
        let script = format!("printf %s {words}");
        let output = Command::new("sh").args(["-c", &script]).env("TMPDIR", folder.path()).output().unwrap();
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap());
        assert!(path.starts_with(folder.path()), "{script}: {}", path.display());
        let said = line(&in_place_of_ssh(&path, vec!["n2".into(), "true".into()], false).unwrap());
        assert!(said.starts_with("ssh -o") && said.ends_with("-p 2222 -l me -- 198.51.100.2 true"), "{said}");
    }
}
