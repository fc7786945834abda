//! Core files that this machine's kernel writes, against what is known of the processes.

use crate::{
    agent, front,
    kernel::{Kernel, Place},
    order::{Found, Search},
    receive::receive,
};
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::Command,
};

const MARK: (&str, &str) = ("TASUKI_TEST_CORES", "this job");

/// A process with this mark that ends itself by a signal in a folder; its number.
fn crash(folder: &Path, mark: &str, signal: i32) -> u32 {
    let words = front();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["/bin/sh", "-c", &format!("kill -{signal} $$")]);
    command.current_dir(folder).env(MARK.0, mark).env("PMI_RANK", "5");
    let mut child = command.spawn().expect("starts");
    let status = child.wait().expect("ends");
    assert_eq!(status.signal(), Some(signal), "{status}");
    child.id()
}

/// What a host sends of the job whose ranks ran in `from`.
fn sent(from: &Path) -> Vec<u8> {
    let mark = (MARK.0.to_owned(), MARK.1.to_owned());
    let search = Search { mark, folder: from.to_owned(), age: 60, failed: true };
    let mut sent = Vec::new();
    agent::give(&search, &Kernel::here(), &mut sent).expect("is sent");
    sent
}

/// What a host sends, as it is received in `to`.
fn brought(from: &Path, to: &Path) -> Vec<(Found, PathBuf)> {
    let (sent, mut cores) = (sent(from), Vec::new());
    receive(&mut &sent[..], "n1", to, |found, path| cores.push((found, path)), |note| panic!("{note}"))
        .expect("is received");
    let aside = tempfile::tempdir().expect("a folder");
    for length in [0, 3, sent.len() / 2, sent.len() - 1] {
        let ended = receive(&mut &sent[..length], "n1", aside.path(), |_, _| {}, |_| {});
        assert!(ended.is_err(), "{length} of {} bytes are taken for all", sent.len());
    }
    cores
}

#[test]
fn a_core_file_of_the_job_says_whose_it_is_and_no_others_are_taken() {
    let is_in_place = |folder: Option<PathBuf>| folder.is_some_and(|folder| folder.as_os_str().is_empty());
    match Kernel::here().place() {
        Place::Files { folder, .. } if is_in_place(folder.clone()) => {}
        place => return eprintln!("not run: this machine's core files go elsewhere: {place:?}"),
    }
    let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    crash(from.path(), "another job", 11);
    assert!(brought(from.path(), to.path()).is_empty());
    let process = crash(from.path(), MARK.1, 6);
    let cores = brought(from.path(), to.path());
    let [(found, path)] = &cores[..] else { panic!("{cores:?}") };
    assert_eq!((found.process, found.signal, found.rank), (Some(process), Some(6), Some(5)));
    assert_eq!(found.program.as_deref(), Some("/bin/sh"));
    assert!(!found.is_cut);
    assert_eq!(*path, to.path().join(format!("core.n1.5.{process}")));
    let own = found.path.as_deref().expect("it is a file");
    assert!(fs::read(path).expect("reads") == fs::read(own).expect("reads"), "the bytes are the same");
    assert_eq!(fs::metadata(path).expect("facts").permissions().mode() & 0o077, 0, "it may hold secrets");
    // A second time nothing is written over, and what was received does not count as a core of this folder.
    assert_eq!(brought(from.path(), to.path())[0].1, path.with_extension(format!("{process}.1")));

    let file = fs::File::options().write(true).open(own).expect("opens");
    file.set_len(found.bytes - 1).expect("cuts");
    assert!(brought(from.path(), to.path())[0].0.is_cut);
}
