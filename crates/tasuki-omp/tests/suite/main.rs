//! OpenMP programs, unmodified: on one machine with their compiler's own library, and as several processes
//! that meet on this machine. What they print must be the same.

mod edges;
mod llvm;
mod profile;
mod stacks;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A compiled program.
struct Program {
    folder: TempDir,
}

impl Program {
    fn build(source: &str) -> Program {
        Program::build_with(source, &[])
    }

    fn build_with(source: &str, options: &[&str]) -> Program {
        let compiler = match source.rsplit('.').next() {
            Some("cpp") => "g++",
            Some("f90") => "gfortran",
            _ => "gcc",
        };
        Program::build_by(compiler, source, options)
    }

    fn build_by(compiler: &str, source: &str, options: &[&str]) -> Program {
        let folder = tempfile::tempdir().expect("a folder for the program");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let mut gcc = Command::new(compiler);
        // Files of modules are written to the current folder.
        gcc.current_dir(folder.path()).args(["-O2", "-fopenmp", "-Wall", "-Wextra", "-Werror"]).args(options);
        let output = gcc.arg(file).arg("-o").arg(folder.path().join("program")).arg("-lm").output();
        let output = output.expect("gcc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Program { folder }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// What it prints on one host with so many threads, by its compiler's own library.
    fn alone(&self, threads: u32, arguments: &[&str]) -> String {
        let mut command = Command::new(self.path());
        let output = command.args(arguments).env("OMP_NUM_THREADS", threads.to_string()).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Starts it as so many processes; `at` is a number that no other test uses.
    fn start(&self, processes: u32, threads: u32, at: u8, arguments: &[&str]) -> Vec<Child> {
        (0..processes).map(|rank| self.process(rank, processes, threads, at, arguments)).collect()
    }

    /// Starts one of these processes.
    fn process(&self, rank: u32, processes: u32, threads: u32, at: u8, arguments: &[&str]) -> Child {
        self.process_with(rank, processes, threads, at, arguments, &[])
    }

    /// As [`Program::process`], with variables beside the usual ones.
    fn process_with(
        &self,
        rank: u32,
        processes: u32,
        threads: u32,
        at: u8,
        arguments: &[&str],
        variables: &[(&str, &OsStr)],
    ) -> Child {
        let [_, b, c, d] = std::process::id().to_be_bytes();
        // The address has room for 64 numbers, and each port for as many.
        let (address, port) = (format!("127.{}.{c}.{d}", b & 3 | at << 2), 29500 + u32::from(at >> 6));
        // `timeout` ends a program that hangs; it takes a small part of this even on a busy machine.
        let mut command = Command::new("timeout");
        let mut loaded = OsString::from("LD_PRELOAD=");
        loaded.push(library());
        for (_, users) in variables.iter().filter(|(name, _)| *name == "LD_PRELOAD") {
            loaded.push(":");
            loaded.push(users);
        }
        command.args(["--kill-after=5", "300"]).arg("env").arg(loaded);
        command.arg(self.path()).args(arguments).envs([
            ("TASUKI_OMP", "1"),
            ("RANK", &rank.to_string()),
            ("WORLD_SIZE", &processes.to_string()),
            ("MASTER_ADDR", &address),
            ("MASTER_PORT", &port.to_string()),
            ("TASUKI_IDENTITY", "127.0.0.1"),
            ("OMP_NUM_THREADS", &threads.to_string()),
        ]);
        command.envs(variables.iter().copied()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts")
    }

    /// What each process prints, all of which must end with success.
    fn spread(&self, processes: u32, threads: u32, at: u8, arguments: &[&str]) -> Vec<String> {
        let all = self.start(processes, threads, at, arguments);
        let end = |child: Child| {
            let output = child.wait_with_output().expect("ends");
            assert!(output.status.success(), "{}", text(&output));
            String::from_utf8(output.stdout).expect("text")
        };
        all.into_iter().map(end).collect()
    }

    /// Demands that it prints that all was good, for each of these numbers of processes and threads.
    fn is_good(&self, teams: &[(u32, u32)], at: u8) {
        for (more, &(processes, threads)) in teams.iter().enumerate() {
            let all = (processes * threads).to_string();
            let said = self.spread(processes, threads, at + more as u8, &[&all]);
            assert_eq!(said[0], format!("good {all}\n"));
            assert!(said[1..].iter().all(String::is_empty), "{said:?}");
        }
    }
}

fn text(output: &Output) -> String {
    let [said, complained] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{said}\n{complained}", output.status)
}

/// Cargo puts libraries that a test depends on beside the test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let library = test.parent().expect("a folder").join("libtasuki_omp.so");
    assert!(library.is_file(), "no {}", library.display());
    library
}

#[test]
fn every_construct_does_what_the_standard_says() {
    let program = Program::build("basics.c");
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (7, 1)], 0);
}

#[test]
fn constructs_that_few_programs_have_do_so_too() {
    let program = Program::build("rare.c");
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 48);
}

/// A program whose code lies at an address that the linker chose.
#[test]
fn programs_that_are_not_position_independent_are_spread_too() {
    let program = Program::build_with("basics.c", &["-no-pie"]);
    assert_eq!(program.spread(3, 1, 10, &["3"])[0], "good 3\n");
}

#[test]
fn kernels_print_what_they_print_on_one_host() {
    let program = Program::build("kernels.c");
    for (at, (processes, threads)) in [(2, 1), (3, 1), (2, 3)].into_iter().enumerate() {
        let all = (processes * threads).to_string();
        let expected = program.alone(processes * threads, &[&all]);
        assert_eq!(program.spread(processes, threads, 11 + at as u8, &[&all])[0], expected);
    }
}

/// Containers, exceptions and streams of C++, in threads of all processes.
#[test]
fn programs_of_cpp_are_spread_too() {
    let program = Program::build("containers.cpp");
    for (at, (processes, threads)) in [(3, 1), (2, 2)].into_iter().enumerate() {
        let said = program.spread(processes, threads, 24 + at as u8, &[]);
        let all = processes * threads;
        let printed = said.iter().flat_map(|said| said.lines()).filter(|&line| line == "thread").count();
        assert_eq!(printed, all as usize, "{said:?}");
        let last = said[0].lines().filter(|&line| line != "thread").collect::<Vec<_>>();
        assert_eq!(last, [format!("{} {all} 36126944", 4950 * all), "100000 child".to_owned()], "{said:?}");
    }
}

/// Locks of pthreads and C++, variables of functions that are made at the first call, conditions: a thread of
/// one host waits for one of another.
#[test]
fn threads_wait_for_one_another_by_means_of_cpp_and_pthreads() {
    let program = Program::build("waits.cpp");
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 54);
}

/// What C++20 makes of atomic variables calls the kernel itself.
#[test]
fn threads_wait_for_one_another_by_means_of_atomic_variables() {
    let program = Program::build_with("atomics.cpp", &["-std=c++20"]);
    assert_eq!(program.alone(3, &["3"]), "good 3\n");
    program.is_good(&[(3, 1), (2, 2)], 62);
}

/// Allocatable arrays, data of modules, threadprivate variables and reductions over arrays. Skipped without
/// gfortran; with TASUKI_NO_SKIP that is a failure.
#[test]
fn programs_of_fortran_are_spread_too() {
    if Command::new("gfortran").arg("--version").output().is_err() {
        assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "there is no gfortran: scripts/setup --tests");
        return eprintln!("skipped: there is no gfortran");
    }
    let program = Program::build("fields.f90");
    for (at, (processes, threads)) in [(2, 1), (3, 1), (2, 2)].into_iter().enumerate() {
        let all = (processes * threads).to_string();
        let expected = program.alone(processes * threads, &[&all]);
        assert!(expected.contains("threads T T\nordered T\nnested T T"), "{expected}");
        assert_eq!(program.spread(processes, threads, 26 + at as u8, &[&all])[0], expected);
    }
}

/// A program ends as it would alone: by `exit` anywhere but in regions of several threads, with its exit
/// code, after its own handlers, with everything printed.
#[test]
fn the_end_of_a_program_is_its_own() {
    let program = Program::build("ends.c");
    for (at, way) in [(15, "return"), (16, "exit"), (68, "serial")] {
        let alone = Command::new(program.path()).arg(way).env("OMP_NUM_THREADS", "2").output().expect("runs");
        let mut all = program.start(2, 1, at, &[way]);
        let other = all.remove(1).wait_with_output().expect("ends");
        let first = all.remove(0).wait_with_output().expect("ends");
        assert_eq!((first.status.code(), &first.stdout), (Some(7), &alone.stdout), "{}", text(&first));
        assert_eq!(alone.status.code(), Some(7));
        assert_eq!(other.status.code(), Some(0), "{}", text(&other));
    }
}

/// A process that is killed ends the program, with words, whoever it is.
#[test]
fn a_killed_process_ends_the_program() {
    let program = Program::build("ends.c");
    for (at, killed) in [0_usize, 1].into_iter().enumerate() {
        let mut all = program.start(2, 1, 18 + at as u8, &["spin", &killed.to_string()]);
        let survivor = all.remove(1 - killed).wait_with_output().expect("ends");
        let told = format!("this process ends: rank {killed} on host 127.0.0.1 is gone: ");
        assert_eq!(survivor.status.code(), Some(1), "{}", text(&survivor));
        assert!(String::from_utf8_lossy(&survivor.stderr).contains(&told), "{}", text(&survivor));
        all.remove(0).wait().expect("ends");
    }
}

/// Hosts with another program, or another number of threads, are refused before anything is shared.
#[test]
fn hosts_that_differ_are_refused() {
    let (one, other) = (Program::build("ends.c"), Program::build_with("ends.c", &["-O0"]));
    let first = one.process(0, 2, 1, 21, &["return"]);
    let second = other.process(1, 2, 1, 21, &["return"]);
    let second = second.wait_with_output().expect("ends");
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.contains("this host is not like that of rank 0"), "{told}");
    let first = first.wait_with_output().expect("ends");
    assert_ne!(first.status.code(), Some(7), "{}", text(&first));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let program = Program::build("ends.c");
    for (name, value) in [
        ("OMP_NUM_THREADS", "0"),
        ("OMP_SCHEDULE", "often"),
        ("OMP_NUM_TEAMS", "0"),
        ("OMP_TEAMS_THREAD_LIMIT", "few"),
        ("WORLD_SIZE", "x"),
    ] {
        let mut command = Command::new(program.path());
        command.env("LD_PRELOAD", library()).env("TASUKI_OMP", "1").env(name, value);
        let output = command.output().expect("runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && told.contains(&format!("{name}={value}")), "{told}");
    }
}

/// Without the variable, and in programs without OpenMP, the library does nothing.
#[test]
fn other_programs_are_left_alone() {
    let program = Program::build("ends.c");
    let output =
        Command::new(program.path()).arg("return").env("LD_PRELOAD", library()).output().expect("runs");
    assert_eq!(output.status.code(), Some(7), "{}", text(&output));
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", "echo fine"]).env("LD_PRELOAD", library()).env("TASUKI_OMP", "1").output();
    assert_eq!(output.expect("runs").stdout, b"fine\n");
}
