use super::*;
use std::process::{Command, Stdio};

#[test]
fn the_numbers_of_threads_are_those_of_processes_too() {
    let program = "import sys, threading\n\
                   other = threading.Thread(target=sys.stdin.read)\n\
                   other.start()\n\
                   print(other.native_id, flush=True)\n\
                   other.join()";
    let mut child = Command::new("python3");
    let child = child.args(["-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("python3 starts");
    let mut said = String::new();
    let mut output = io::BufReader::new(child.stdout.take().expect("a pipe"));
    io::BufRead::read_line(&mut output, &mut said).expect("it says a number");
    let (pid, other) = (child.id() as i32, said.trim().parse::<i32>().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join(CRIU)).expect("a folder");
    let (residence, proxies) = (Residence::Processes, BTreeMap::new());
    let flock = Flock { shepherd: pid, residence, proxies };
    let manifest = Manifest::of(7, "1", &flock, &[pid], folder.path());
    drop(child.stdin.take());
    child.wait().expect("it ends");
    assert_eq!(manifest.expect("it is looked at").numbers(), [pid, other]);
}

#[test]
fn no_file_is_touched_where_one_of_them_is_not_as_it_was() {
    let [disk, folder] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let memory = tempfile::tempdir_in("/dev/shm").expect("a folder");
    fs::create_dir(disk.path().join(CRIU)).expect("a folder");
    let [first, last] = ["first", "last"].map(|name| folder.path().join(name));
    let shared = memory.path().join("shared");
    let all = [&first, &shared, &last];
    all.iter().for_each(|path| fs::write(path, "saved").expect("writes"));
    let mut child = Command::new("/bin/sh");
    let script = r#"exec 3>>"$1" 4>>"$2" 5>>"$3"; echo; read x"#;
    let child = child.args(["-c", script, "sh"]).args(all).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().expect("sh starts");
    let pid = child.id() as i32;
    io::Read::read_exact(&mut child.stdout.take().expect("a pipe"), &mut [0]).expect("it says something");
    let flock = Flock { shepherd: pid, residence: Residence::Processes, proxies: BTreeMap::new() };
    let manifest = Manifest::of(7, "1", &flock, &[pid], disk.path());
    drop(child.stdin.take());
    child.wait().expect("it ends");
    let manifest = manifest.expect("it is looked at");
    let mut remade = Remade::of(disk.path()).expect("nothing is noted");
    let mut put_back = || manifest.put_back(disk.path(), &mut remade);
    let texts = || all.map(|path| fs::read_to_string(path).expect("it is there"));
    [&first, &shared].iter().for_each(|path| fs::write(path, "saved, and more").expect("writes"));
    fs::write(&last, "sav").expect("writes");
    let why = put_back().expect_err("the last one is too short");
    assert!(why.contains("last, which the job had open, has 3 bytes now, and had 5"), "{why}");
    assert_eq!(texts(), ["saved, and more", "saved, and more", "sav"]);
    fs::write(&last, "saved, and more").expect("writes");
    put_back().expect("all are there");
    assert_eq!(texts(), ["saved"; 3]);
}
