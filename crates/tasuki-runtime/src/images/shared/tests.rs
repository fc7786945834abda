use super::{
    super::{Flock, Manifest},
    *,
};
use std::{
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    process::{Command, Stdio},
};
use tasuki_shepherd::Residence;

/// A folder in shared memory with a file in a folder of its own, and that file as it is noted and copied.
fn saved(disk: &Path) -> (tempfile::TempDir, PathBuf, Shared) {
    let memory = tempfile::tempdir_in(FOLDER).expect("a folder");
    let path = memory.path().join("below/file");
    fs::create_dir(memory.path().join("below")).expect("a folder");
    fs::write(&path, "saved").expect("writes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");
    let shared = note(&path).expect("it is there");
    shared.save(disk).expect("it is copied");
    (memory, path, shared)
}

fn note(path: &Path) -> Option<Shared> {
    let found = fs::metadata(path).expect("it is there");
    Shared::note(path, (found.dev(), found.ino()), found.uid(), "0".into()).expect("it is looked at")
}

fn put_back(shared: &Shared, disk: &Path) -> Result<(), String> {
    let mut remade = Remade::of(disk)?;
    remade.check(shared)?;
    remade.put_back(shared, disk)
}

#[test]
fn nothing_is_read_or_made_or_removed_where_a_link_leads() {
    let [disk, other] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let (memory, path, shared) = saved(disk.path());
    let victim = other.path().join("file");
    fs::write(&victim, "another user's").expect("writes");
    fs::rename(memory.path().join("below"), memory.path().join("away")).expect("it is moved");
    symlink(other.path(), memory.path().join("below")).expect("a link");
    assert_eq!(fs::read_to_string(&path).expect("it leads there"), "another user's");
    let mut remade = Remade::of(disk.path()).expect("nothing is noted");
    for refused in [remade.check(&shared), remade.put_back(&shared, disk.path())] {
        let why = refused.expect_err("a link is on the way");
        assert!(why.contains("below/file") && why.contains("a symbolic link"), "{why}");
    }
    fs::remove_file(disk.path().join("0")).expect("the copy");
    assert!(shared.save(disk.path()).is_err());
    fs::remove_file(&victim).expect("it is there");
    remade.put_back(&shared, disk.path()).expect_err("a link is on the way");
    assert_eq!(fs::read_dir(other.path()).expect("a folder").count(), 0);
    // A link in the place of the file itself.
    fs::remove_file(memory.path().join("below")).expect("the link");
    fs::rename(memory.path().join("away"), memory.path().join("below")).expect("it is moved back");
    fs::remove_file(&path).expect("it is there");
    symlink(&victim, &path).expect("a link");
    assert!(shared.save(disk.path()).is_err());
    let why = remade.put_back(&shared, disk.path()).expect_err("it is a link");
    assert!(why.contains("is another file now"), "{why}");
    assert!(!victim.exists());
}

#[test]
fn the_file_that_was_saved_is_made_anew_and_another_one_is_left_alone() {
    let disk = tempfile::tempdir().expect("a folder");
    let (_memory, path, shared) = saved(disk.path());
    // The one that was saved; then the one that a restart made; then none.
    for _ in 0..3 {
        fs::write(&path, "written after the checkpoint").expect("writes");
        put_back(&shared, disk.path()).expect("it is the job's");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "saved");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o7777, 0o640);
    }
    fs::remove_file(&path).expect("it is there");
    put_back(&shared, disk.path()).expect("nothing is there");
    // Another one takes its place while the first is there, so that it has a number of its own.
    let other = path.with_extension("other");
    fs::write(&other, "another job's").expect("writes");
    fs::rename(&other, &path).expect("it is moved");
    let why = put_back(&shared, disk.path()).expect_err("it is another one");
    assert!(why.contains("below/file") && why.contains("remove it if nobody needs it"), "{why}");
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "another job's");
}

#[test]
fn files_of_other_users_and_other_files_of_the_name_are_not_noted() {
    let disk = tempfile::tempdir().expect("a folder");
    let (_memory, path, shared) = saved(disk.path());
    assert!(note(&path).is_some());
    let (id, uid) = (shared.identity.id, shared.uid);
    let noted = |id, uid| Shared::note(&path, id, uid, "1".into()).expect("it is looked at");
    assert!(noted(id, uid + 1).is_none());
    assert!(noted((id.0, id.1 + 1), uid).is_none());
    fs::remove_file(&path).expect("it is there");
    assert!(noted(id, uid).is_none());
}

#[test]
fn what_a_restart_has_made_is_taken_back_also_where_its_copy_is_cut_short() {
    let disk = tempfile::tempdir().expect("a folder");
    let (_memory, path, shared) = saved(disk.path());
    let mut remade = Remade::of(disk.path()).expect("nothing is noted");
    remade.put_back(&shared, disk.path()).expect("it is the job's");
    assert_eq!(remade.take_back(), [""; 0]);
    assert!(!path.exists());
    // The copy cannot be read, and the file that was made for it stays empty.
    let mut remade = Remade::of(disk.path()).expect("a note");
    fs::remove_file(disk.path().join("0")).expect("the copy");
    remade.put_back(&shared, disk.path()).expect_err("there is no copy");
    assert!(path.exists());
    assert_eq!(remade.take_back(), [""; 0]);
    assert!(!path.exists());
    // One that has been replaced meanwhile is not the restart's.
    fs::write(disk.path().join("0"), "saved").expect("writes");
    let mut remade = Remade::of(disk.path()).expect("a note");
    remade.put_back(&shared, disk.path()).expect("nothing is there");
    let other = path.with_extension("other");
    fs::write(&other, "another job's").expect("writes");
    fs::rename(&other, &path).expect("it is moved");
    assert_eq!(remade.take_back(), [""; 0]);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "another job's");
}

#[test]
fn a_file_that_a_process_has_in_its_memory_alone_is_copied() {
    let disk = tempfile::tempdir().expect("a folder");
    let memory = tempfile::tempdir_in(FOLDER).expect("a folder");
    let path = memory.path().join("file");
    fs::create_dir(disk.path().join("criu")).expect("a folder");
    // The module keeps a descriptor of its own, behind the file's, which is the last one.
    let program = "import mmap, os, sys\n\
                   file = open(sys.argv[1], 'w+b', buffering=0)\n\
                   file.write(b'saved')\n\
                   memory = mmap.mmap(file.fileno(), 5)\n\
                   os.closerange(file.fileno(), 64)\n\
                   print(flush=True)\n\
                   sys.stdin.read()\n\
                   os._exit(0)";
    let mut child = Command::new("python3");
    let child = child.args(["-c", program]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("python3 starts");
    child.stdout.take().expect("a pipe").read_exact(&mut [0]).expect("it says something");
    let pid = child.id() as i32;
    let opened = fs::read_dir(format!("/proc/{pid}/fd")).expect("it is there").flatten();
    let is_open = opened.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|to| to == path);
    let flock = Flock { shepherd: pid, residence: Residence::Processes, proxies: BTreeMap::new() };
    let manifest = Manifest::of(7, "1", &flock, &[pid], disk.path());
    drop(child.stdin.take());
    child.wait().expect("it ends");
    fs::remove_file(&path).expect("it is there");
    let mut remade = Remade::of(disk.path()).expect("nothing is noted");
    manifest.expect("it is looked at").put_back(disk.path(), &mut remade).expect("nothing is there");
    assert_eq!((fs::read_to_string(&path).expect("it is there").as_str(), is_open), ("saved", false));
}
