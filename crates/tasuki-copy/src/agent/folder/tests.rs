use super::*;
use std::{io::Write, os::unix::fs::PermissionsExt};

fn item(name: &str) -> Item {
    Item { name: name.into(), bytes: 4, mode: 0o755 }
}

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_folder_is_its_users_alone_and_goes_with_the_job() {
    let place = tempfile::tempdir().unwrap();
    let folder = JobFolder::make(place.path(), "a1", 100).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&folder.path), 0o700);
    let sent = [item("files/in/put"), item("lib/libx.so")];
    folder.announce(&sent).unwrap();
    for item in &sent {
        folder.create(item).unwrap().write_all(b"data").unwrap();
        assert_eq!(mode(&folder.path_of(item)), 0o700, "the rights of others are left out");
    }
    for odd in ["/etc/x", "files/../../x"] {
        assert!(folder.create(&item(odd)).is_err(), "{odd}");
    }
    fs::create_dir(folder.path.join("files/__pycache__")).unwrap();
    fs::write(folder.path.join("files/__pycache__/a.pyc"), "").unwrap();
    assert_eq!(folder.end().unwrap(), None);
    assert!(names(place.path()).is_empty(), "{:?}", names(place.path()));
}

#[test]
fn what_the_program_has_written_is_kept_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let folder = JobFolder::make(place.path(), "b2", 0).unwrap();
    let sent = [item("files/prog"), item("files/data/deep/input"), item("lib/libx.so")];
    folder.announce(&sent).unwrap();
    sent.iter().for_each(|item| drop(folder.create(item).unwrap()));
    fs::create_dir(folder.path.join("files/out")).unwrap();
    fs::write(folder.path.join("files/out/result"), "42").unwrap();
    let kept = folder.end().unwrap().unwrap();
    assert_eq!(kept.files, ["out/result"]);
    assert_eq!(fs::read_to_string(Path::new(&kept.folder).join("out/result")).unwrap(), "42");
    assert_eq!(names(place.path()), ["tasuki-kept-b2"]);
    assert_eq!(names(Path::new(&kept.folder)), ["out"]);
    JobFolder::sweep(place.path());
    assert_eq!(names(place.path()), ["tasuki-kept-b2"], "it is not swept");
}

#[test]
fn what_a_crash_left_is_swept_and_what_lives_is_not() {
    let place = tempfile::tempdir().unwrap();
    let living = JobFolder::make(place.path(), "c3", 0).unwrap();
    let crashed = JobFolder::make(place.path(), "d4", 0).unwrap();
    // The lock goes with the process; so it is given back here, and nothing is cleaned.
    drop(crashed.release());
    std::os::unix::fs::symlink("/etc", place.path().join("tasuki-job-link")).unwrap();
    JobFolder::sweep(place.path());
    let mut left = names(place.path());
    left.sort();
    assert_eq!(left, ["tasuki-job-c3", "tasuki-job-link"], "a link is nobody's folder");
    drop(living);
    assert_eq!(names(place.path()), ["tasuki-job-link"], "dropping it removes it");
}

#[test]
fn what_cannot_be_is_refused_with_the_cause() {
    let place = tempfile::tempdir().unwrap();
    let why = |made: Result<JobFolder, Trouble>| made.err().unwrap().why;
    assert!(why(JobFolder::make(place.path(), "e5", u64::MAX / 2)).contains("are to come"));
    assert!(why(JobFolder::make(place.path(), "../x", 0)).contains("odd"));
    let absent = place.path().join("absent");
    assert!(why(JobFolder::make(&absent, "f6", 0)).contains("cannot make"));
    let first = JobFolder::make(place.path(), "a7", 0).unwrap();
    assert!(why(JobFolder::make(place.path(), "a7", 0)).contains("exists"));
    assert_eq!(names(place.path()), ["tasuki-job-a7"], "the second leaves nothing, and the first alone");
    drop(first);
}
