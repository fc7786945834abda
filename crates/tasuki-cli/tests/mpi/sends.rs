//! Sends of programs with several threads: Open MPI gives a request back twice, or rewinds a persistent one
//! that has begun anew, if another thread is late with its completion
//! (docs/adr/0035-sends-of-threads-put-right-from-above.md). That is rare, so its library is slowed down at
//! that place here.

use crate::support::{
    TestLab,
    mpi::Programs,
    mpis::{Mpi, mpis, peers},
    ok,
    run::MpiRun,
    skip_without_root, tasuki,
};
use std::{fs, os::unix::fs::symlink, path::Path};

/// `movl $1,0xa0(%rbx); mov 0xa4(%rbx),%eax`: the library is finished with a request, and looks whether it
/// has been freed. In the function that completes sends, twice: for `MPI_Isend`, and for all others.
const RACE: [u8; 16] = [0xc7, 0x83, 0xa0, 0, 0, 0, 1, 0, 0, 0, 0x8b, 0x83, 0xa4, 0, 0, 0];
const STORE: usize = 10;

/// Sleeps for 0.2 ms by the system call (35, nanosleep), reads as the second instruction above, and returns.
/// All other registers are as they were.
const LATE: [u8; 54] = [
    0x51, 0x41, 0x53, 0x57, 0x56, // push rcx, r11, rdi, rsi
    0x48, 0x83, 0xec, 0x10, // sub $16,%rsp
    0x48, 0xc7, 0x04, 0x24, 0, 0, 0, 0, // movq $0,(%rsp)
    0x48, 0xc7, 0x44, 0x24, 8, 0x40, 0x0d, 3, 0, // movq $200000,8(%rsp)
    0x48, 0x89, 0xe7, 0x31, 0xf6, // mov %rsp,%rdi; xor %esi,%esi
    0xb8, 35, 0, 0, 0, 0x0f, 0x05, // mov $35,%eax; syscall
    0x48, 0x83, 0xc4, 0x10, // add $16,%rsp
    0x5e, 0x5f, 0x41, 0x5b, 0x59, // pop rsi, rdi, r11, rcx
    0x8b, 0x83, 0xa4, 0, 0, 0, 0xc3, // mov 0xa4(%rbx),%eax; ret
];

/// A copy of a library with the delay. `None` if it was compiled in another way.
fn slowed(library: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(library).ok()?;
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?) as usize);
    // The program headers of a file of 64 bits (System V ABI, ELF-64): the code is the segment that is loaded
    // (1) and can be executed (flag 1). Behind it is nothing, up to the end of a page.
    let headers = number(0x20)?;
    let count = usize::from(*bytes.get(0x38)?);
    let code =
        (0..count).map(|index| headers + index * 56).find(|&at| bytes[at] == 1 && bytes[at + 4] & 1 == 1)?;
    let end = (number(code + 8)? + number(code + 32)?).next_multiple_of(16);
    if bytes.get(end..end + LATE.len())?.iter().any(|&byte| byte != 0) {
        return None;
    }
    let windows = bytes.windows(RACE.len()).enumerate();
    let spots: Vec<_> = windows.filter(|(_, window)| *window == RACE).map(|(at, _)| at + STORE).collect();
    bytes[end..end + LATE.len()].copy_from_slice(&LATE);
    for &spot in &spots {
        // A call with the distance from the instruction behind it, and one that does nothing.
        let distance = i32::try_from(end - (spot + 5)).ok()?;
        bytes[spot] = 0xe8;
        bytes[spot + 1..spot + 5].copy_from_slice(&distance.to_le_bytes());
        bytes[spot + 5] = 0x90;
    }
    (spots.len() == 2).then_some(bytes)
}

/// Links to all files of a folder, but a slowed copy of one.
fn copied(from: &Path, name: &str, to: &Path) -> Option<()> {
    let slow = slowed(&from.join(name))?;
    for entry in fs::read_dir(from).ok()?.flatten().filter(|entry| entry.file_name() != name) {
        symlink(entry.path(), to.join(entry.file_name())).expect("a link");
    }
    fs::write(to.join(name), slow).expect("a library");
    Some(())
}

/// Settings under which an Open MPI is the slowed one, and a library that is preloaded for that.
fn made_slow(mpi: &Mpi, folder: &Path) -> Option<(String, String)> {
    const LIBRARY: &str = "libmpi.so.40";
    if let Ok(own) = fs::canonicalize(peers().join(mpi.name).join("lib")) {
        copied(&own, LIBRARY, folder)?;
        return Some((String::new(), folder.join(LIBRARY).display().to_string()));
    }
    // Debian's has a file for each component.
    copied(Path::new("/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3"), "mca_pml_cm.so", folder)?;
    Some((format!("OMPI_MCA_mca_base_component_path={}", folder.display()), String::new()))
}

#[test]
fn threads_that_send_while_another_is_late_with_their_completions() {
    let test = "threads_that_send_while_another_is_late_with_their_completions";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("sends", &["--shape", "full:2"]);
    let programs = Programs::new();
    for mpi in mpis(test).into_iter().filter(Mpi::is_open_mpi) {
        // Not in /tmp, of which every host has its own.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let Some((setting, preloaded)) = made_slow(&mpi, folder.path()) else {
            eprintln!("skipped: {} was not compiled as this test knows it", mpi.name);
            continue;
        };
        let built = programs.build("threads", &mpi);
        // As it is; this also shows the hosts the program.
        MpiRun::new(&lab, &mpi, "tasuki", 2, &built).args(["5", "4"]).ok();
        let argv = ["--lab", &lab.name, "--mpi", mpi.name, "--transport", "tasuki", "-n", "2", "--dry-run"];
        let line = ok(tasuki().arg("run").args(argv).arg(&built).env("TASUKI_PEERS", peers()));
        let run = |corrected: bool| {
            let words = line.trim().split(' ').map(|word| match word.strip_prefix("LD_PRELOAD=") {
                Some(library) if corrected => format!("LD_PRELOAD={library}:{preloaded}"),
                Some(_) => format!("LD_PRELOAD={preloaded}"),
                None => word.to_owned(),
            });
            let line = format!("env {setting} {} 30 4", words.collect::<Vec<_>>().join(" "));
            let mut command = tasuki();
            command.args(["lab", "exec", "--lab", &lab.name, "--job", "n1", "--", "sh", "-c", &line]);
            MpiRun::of(command, &lab, format!("{}, corrected: {corrected}", mpi.name)).finish()
        };
        // If this passes one day, Open MPI has been corrected, or the delay is at another place.
        let bare = run(false);
        assert!(!bare.stdout.contains("threads ok"), "not corrected: {}", bare.report());
        let corrected = run(true);
        assert!(corrected.stdout.contains("threads ok"), "{}", corrected.report());
    }
}
