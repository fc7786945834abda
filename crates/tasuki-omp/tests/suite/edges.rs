//! What lies at the edges of programs: signals, constructors and destructors, the environment, threads of
//! libraries.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::{Program, text};

/// Signals reach the program's own thread, and their handlers may touch what other hosts have.
#[test]
fn handlers_of_signals_may_use_what_is_shared() {
    let program = Program::build("signals.c");
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(3, 1), (2, 2)], 64);
}

/// Regions before and after `main` give what they give alone, though other hosts have no part in the stack on
/// which they are. So do strings of the environment, whose places differ from host to host.
#[test]
fn what_is_around_main_is_as_on_one_host() {
    let program = Program::build("begins.cpp");
    let alone = Command::new(program.path()).env("MODE", "right").output().expect("runs");
    let expected = "main 499500 1.999e+06, 0 wrong\nhandler 44850\ndestructor 9900\n";
    assert_eq!(String::from_utf8_lossy(&alone.stdout), expected);
    for (at, (processes, threads)) in [(3, 1), (2, 2)].into_iter().enumerate() {
        let start = |rank: u32| {
            // Behind the other variable, which lies elsewhere then.
            let behind = "x".repeat(1 + 40 * rank as usize);
            let variables = [("MODE", OsStr::new("right")), ("Z_BEHIND", OsStr::new(&behind))];
            program.process_with(rank, processes, threads, 66 + at as u8, &[], &variables)
        };
        let all: Vec<_> = (0..processes).map(start).collect();
        let ended: Vec<_> = all.into_iter().map(|child| child.wait_with_output().expect("ends")).collect();
        for output in &ended {
            assert!(output.status.success(), "{}", text(output));
        }
        assert_eq!(String::from_utf8_lossy(&ended[0].stdout), expected);
    }
}

/// What threads are told of regions around them, and how many threads these may have.
#[test]
fn regions_inside_of_regions_are_as_the_standard_says() {
    let program = Program::build("levels.c");
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 69);
}

/// Leagues of teams, with clauses, by calls, and by the environment.
#[test]
fn teams_are_as_many_and_as_large_as_they_are_said_to_be() {
    let program = Program::build("teams.c");
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 81);
    for (at, names) in [
        (84, ["OMP_NUM_TEAMS", "OMP_TEAMS_THREAD_LIMIT"]),
        (85, ["OMP_NUM_TEAMS_ALL", "OMP_TEAMS_THREAD_LIMIT_ALL"]),
    ] {
        let variables = [(names[0], OsStr::new("2")), (names[1], OsStr::new("1"))];
        let start = |rank| program.process_with(rank, 2, 1, at, &["2", "set"], &variables[..]);
        let ended = [start(0), start(1)].map(|child| child.wait_with_output().expect("ends"));
        assert_eq!(ended[0].stdout, b"good 2\n", "{}", text(&ended[0]));
    }
}

#[test]
fn tasks_add_to_what_is_around_them() {
    let program = Program::build("reductions.c");
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 98);
}

/// What the user has loaded before the program is loaded behind this library, and before programs that the
/// program starts, which this library is not for.
#[test]
fn what_the_user_loads_before_programs_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let added = folder.path().join("libadded.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/loaded.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-DADDED"]).arg(&source).arg("-o").arg(&added);
    assert!(gcc.status().expect("gcc runs").success());
    let program = Program::build("loaded.c");
    let users = [("LD_PRELOAD", added.as_os_str())];
    for (at, variables, expected) in [
        (79, &users[..0], "no, and a child has \n".to_owned()),
        (80, &users[..], format!("yes, and a child has {}\n", added.display())),
    ] {
        let start = |rank| program.process_with(rank, 2, 1, at, &[], variables);
        let ended = [start(0), start(1)].map(|child| child.wait_with_output().expect("ends"));
        assert!(ended.iter().all(|output| output.status.success()), "{ended:?}");
        assert_eq!(String::from_utf8_lossy(&ended[0].stdout), expected);
    }
}

/// OpenMP 5.0, 6.11: no region has more threads.
#[test]
fn the_limit_of_the_environment_is_kept() {
    let program = Program::build("ends.c");
    let limit = [("OMP_THREAD_LIMIT", OsStr::new("2"))];
    let all: Vec<_> = (0..2).map(|rank| program.process_with(rank, 2, 2, 72, &["return"], &limit)).collect();
    let ended: Vec<_> = all.into_iter().map(|child| child.wait_with_output().expect("ends")).collect();
    assert_eq!(ended[0].stdout, b"no end of linehandler 2\n", "{}", text(&ended[0]));
}

/// Threads that are not OpenMP's are told apart at locks that lie in the program's memory.
#[test]
fn threads_of_libraries_keep_one_another_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("libowners.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/owners.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-pthread"]).arg(source).arg("-o").arg(&library);
    assert!(gcc.status().expect("gcc runs").success());
    let options = ["-DMAIN", "-Wl,--no-as-needed", library.to_str().expect("text")];
    let program = Program::build_with("owners.c", &options);
    assert_eq!(program.alone(2, &[]), "2 40000\n");
    assert_eq!(program.spread(2, 1, 75, &[])[0], "2 40000\n");
}

/// Libraries have several functions of one name, of which the loader chooses one for the processor, here for
/// one that is said to have less. Linked so that each host keeps its own, the program runs.
#[test]
#[cfg(target_arch = "x86_64")]
fn hosts_with_other_processors_do_not_take_over_functions() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return eprintln!("skipped: this processor has nothing that could be taken from it");
    }
    let less =
        OsStr::new("glibc.cpu.hwcaps=-AVX2,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-ERMS,-BMI2,-RTM");
    let run = |program: &Program, at: u8| {
        let variables = [("MODE", OsStr::new("right")), ("GLIBC_TUNABLES", less)];
        let start = |rank: u32| program.process_with(rank, 2, 1, at, &[], &variables[..1 + rank as usize]);
        [start(0), start(1)].map(|child| child.wait_with_output().expect("ends"))
    };
    let [_, refused] = run(&Program::build_with("begins.cpp", &["-Wl,-z,lazy"]), 77);
    assert!(text(&refused).contains("-Wl,-z,relro,-z,now"), "{}", text(&refused));
    let [first, second] = run(&Program::build_with("begins.cpp", &["-Wl,-z,relro,-z,now"]), 78);
    assert!(first.status.success() && second.status.success(), "{} {}", text(&first), text(&second));
}
