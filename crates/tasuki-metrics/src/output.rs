//! Files that metrics replace, time and again.

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// How the metrics of Tasuki begin: what the first of them means, or of which kind it is.
const BEGINNINGS: [&[u8]; 2] = [b"# HELP tasuki_", b"# TYPE tasuki_"];

/// What is at a path, behind its links.
enum Place {
    /// Nothing.
    Free,
    /// A regular file.
    File,
    /// A device or a pipe, which is written into: another file in its place would take it from all others.
    Stream,
}

impl Place {
    /// Of this path.
    fn of(path: &Path) -> Result<Self, String> {
        let cannot = |why: &str| Err(format!("cannot write {}: {why}", path.display()));
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => cannot("it is a folder; name a file"),
            Ok(found) if found.is_file() => Ok(Self::File),
            Ok(_) => Ok(Self::Stream),
            Err(error) if error.kind() != io::ErrorKind::NotFound => cannot(&error.to_string()),
            Err(_) if path.is_symlink() => {
                cannot("it is a link that leads to nothing; name what it is to be")
            }
            Err(_) => Ok(Self::Free),
        }
    }
}

/// Refuses to replace a file that has something else than metrics, and what is no file.
///
/// # Errors
/// What is to be said.
pub fn check_output(path: &Path) -> Result<(), String> {
    match Place::of(path)? {
        Place::Free | Place::Stream => return Ok(()),
        Place::File => {}
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(64).read_to_end(&mut start))
        .map_err(|error| format!("cannot read {}, which is there already: {error}", path.display()))?;
    match start.is_empty() || BEGINNINGS.iter().any(|words| start.starts_with(words)) {
        true => Ok(()),
        false => Err(format!(
            "{} is there already, and has no metrics of Tasuki; it stays as it is",
            path.display()
        )),
    }
}

/// Writes metrics to a path. A file there is whole whenever it is read, and every user may read it; a link
/// stays one. What is no file, as `/dev/stdout`, is written into.
///
/// # Errors
/// What is to be said.
pub fn write_output(path: &Path, text: &str) -> Result<(), String> {
    let written = match Place::of(path)? {
        Place::Free => replace(path, text),
        Place::File => fs::canonicalize(path).and_then(|file| replace(&file, text)),
        Place::Stream => write_into(path, text),
    };
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Replaces a file by one that every user may read. `replace_file` of `tasuki-cluster` is for what must
/// outlive a power cut: it would wait for the disk at every run of a timer, writes in place where the folder
/// takes no other file, so that a reader may see half a text, and has one name for that other file, which two
/// runs at the same time would share.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(Permissions::from_mode(0o644))?;
    file.persist(path)?;
    Ok(())
}

/// Writes into what is there. A pipe that nobody reads is an error, and not waited for.
fn write_into(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::fs::FileTypeExt, process::Command, thread};

    #[test]
    fn a_pipe_stays_a_pipe_and_its_reader_gets_the_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        assert_eq!(check_output(&pipe), Ok(()));
        let refused = write_output(&pipe, "nobody reads").unwrap_err();
        assert!(refused.contains("cannot write"), "{refused}");
        // Opened for both, a pipe waits for nobody (fifo(7)).
        let mut reader = OpenOptions::new().read(true).write(true).open(&pipe).expect("opens");
        let text = "x".repeat(1 << 20);
        let read = thread::scope(|scope| {
            let written = scope.spawn(|| write_output(&pipe, &text));
            let mut read = vec![0; text.len()];
            reader.read_exact(&mut read).expect("reads");
            assert_eq!(written.join().expect("no panic"), Ok(()));
            read
        });
        assert!(read == text.as_bytes());
        assert!(fs::symlink_metadata(&pipe).expect("it is there").file_type().is_fifo());
    }

    #[test]
    fn a_link_stays_a_link_and_folders_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let [real, link, lost] = ["real.prom", "link", "lost"].map(|name| folder.path().join(name));
        write_output(&real, "old").expect("writes");
        std::os::unix::fs::symlink("real.prom", &link).expect("a link");
        write_output(&link, "new").expect("writes");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).expect("reads"), "new");
        std::os::unix::fs::symlink("nothing", &lost).expect("a link");
        for (path, word) in [(&lost, "leads to nothing"), (&folder.path().to_path_buf(), "folder")] {
            for refused in [check_output(path), write_output(path, "new")] {
                assert!(refused.as_ref().is_err_and(|why| why.contains(word)), "{refused:?}");
            }
        }
        assert!(lost.is_symlink());
    }

    #[test]
    fn only_metrics_are_replaced() {
        let path = std::env::temp_dir().join(format!("tasuki-metrics-{}.prom", std::process::id()));
        let check = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            check_output(&path)
        };
        let refused = check("[[host]]\nname = \"n1\"\n").unwrap_err();
        assert!(refused.contains("is there already"), "{refused}");
        assert!(check("# HELP node_load1 of another exporter\n").is_err());
        let own = crate::openmetrics(vec![("n1".into(), Err("it is off".into()))], Vec::new(), None);
        assert_eq!(check(&own.expect("a text")), Ok(()), "a timer repeats it");
        assert_eq!(check(""), Ok(()));
        std::fs::remove_file(&path).expect("removes");
        assert_eq!(check_output(&path), Ok(()));
        assert_eq!(check_output(Path::new("/dev/null")), Ok(()));
    }
}
