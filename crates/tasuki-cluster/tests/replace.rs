//! Files that are replaced: what of the old one stays.

use rustix::fs::{CWD, Mode, XattrFlags, getxattr, mkfifoat, setxattr};
use std::{
    fs::{self, File, Metadata, Permissions},
    io::Read,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    thread,
};
use tasuki_cluster::replace_file;

/// A folder on the build's file system, which keeps attributes where one in memory may not.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn a_file_that_is_replaced_keeps_what_it_is_besides_its_content() {
    let folder = folder();
    let [file, link, left] = ["file", "link", "file.tasuki-new"].map(|name| folder.path().join(name));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    symlink("file", &link).unwrap();
    setxattr(&file, "user.kept", b"value", XattrFlags::empty()).unwrap();
    let before = fs::metadata(&file).unwrap();
    // A process that was killed here has left its own.
    fs::write(&left, "left").unwrap();
    replace_file(&link, b"new", Some(0o600)).unwrap();
    let after = fs::metadata(&file).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"new");
    assert_ne!(before.ino(), after.ino(), "a reader of the old file is not disturbed");
    let identity = |file: &Metadata| (file.mode(), file.uid(), file.gid());
    assert_eq!(identity(&before), identity(&after));
    let mut value = [0u8; 16];
    let length = getxattr(&file, "user.kept", &mut value[..]).unwrap();
    assert_eq!(&value[..length], b"value");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && !left.exists());
}

#[test]
fn a_new_file_gets_the_mode_that_is_asked_for_and_no_folder() {
    let folder = folder();
    let file = folder.path().join("file");
    replace_file(&file, b"new", Some(0o604)).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o604);
    let (plain, other) = (folder.path().join("plain"), folder.path().join("other"));
    replace_file(&plain, b"new", None).unwrap();
    fs::write(&other, "new").unwrap();
    assert_eq!(fs::metadata(&plain).unwrap().mode(), fs::metadata(&other).unwrap().mode());
    assert!(replace_file(&folder.path().join("no/file"), b"new", None).is_err());
}

#[test]
fn a_pipe_is_written_to_and_stays_one() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut text = String::new();
            File::open(pipe).unwrap().read_to_string(&mut text).map(|_| text).unwrap()
        }
    });
    replace_file(&pipe, b"through", None).unwrap();
    assert!(!fs::metadata(&pipe).unwrap().is_file(), "it was not replaced");
    assert_eq!(reader.join().unwrap(), "through");
}
