//! The libfabric in front of the system's: which symbols programs find in it, when the system's is loaded,
//! and that messages are right in either case.

mod stage;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use stage::Stage;

/// Two of the libraries that the system's libfabric depends on, as Debian's package says: libpsm2 and libefa.
const COMPANIONS: [&str; 2] = ["libpsm2.so", "libefa.so"];

/// The program's output, and the libraries that it has loaded, as the dynamic loader tells (ld.so(8),
/// LD_DEBUG).
fn loaded(command: &mut Command) -> (Output, BTreeSet<String>) {
    let output = command.env("LD_DEBUG", "files").output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let initialised = told.lines().filter_map(|line| line.split_once("calling init: "));
    let names =
        initialised.filter_map(|(_, path)| Path::new(path.trim()).file_name().and_then(OsStr::to_str));
    let names = names.map(str::to_owned).collect();
    (output, names)
}

fn has_companions(libraries: &BTreeSet<String>) -> bool {
    let found = COMPANIONS.map(|name| libraries.iter().any(|library| library.starts_with(name)));
    assert!(found[0] == found[1], "{libraries:?}");
    found[0]
}

fn local(stage: &Stage) -> Command {
    stage.command(stage.path().join("local").to_str().expect("text"))
}

#[test]
fn messages_over_shared_memory_and_udp() {
    let stage = Stage::with_front();
    for (arguments, shm) in [(["map", "all"], true), (["table", "all"], false), (["map", "selective"], true)]
    {
        stage.run(arguments, shm);
    }
    stage.run_program("remote", ["table", "all"], true);
    stage.run_program("remote", ["map", "gone"], false);
}

/// The second that Open MPI sleeps when it closes btl/ofi is left out, and no other sleep is. The program has
/// a `nanosleep` of its own, which counts.
#[test]
fn one_pause_of_open_mpi_is_left_out() {
    let stage = Stage::with_front();
    let folder = stage.path().join("pause");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/pause.c");
    let compile = |arguments: &[&str]| {
        let mut compiler = Command::new("cc");
        compiler.current_dir(&folder).arg("-Wall").arg(&source).args(arguments);
        assert!(compiler.status().expect("cc runs: see scripts/setup").success(), "{arguments:?}");
    };
    compile(&["-DCOMPONENT=ofi", "-shared", "-fPIC", "-o", "libofi.so"]);
    compile(&["-DCOMPONENT=tcp", "-shared", "-fPIC", "-o", "libtcp.so"]);
    compile(&["-rdynamic", "-Wl,-rpath,$ORIGIN", "-o", "pause", "libofi.so", "libtcp.so"]);
    let mut program = Command::new(folder.join("pause"));
    program.env("LD_PRELOAD", stage.front().join("libtasuki-openmpi.so"));
    let output = program.output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "closing ofi 0, another in ofi 1, closing tcp 1, own 1\n", "{output:?}");
}

#[test]
fn the_systems_is_not_loaded_where_tasuki_alone_is_asked_for() {
    let plain = Stage::new();
    let (output, libraries) = loaded(&mut local(&plain));
    assert!(
        output.status.success() && has_companions(&libraries),
        "without it they are loaded: {libraries:?}"
    );
    let stage = Stage::with_front();
    let (output, libraries) = loaded(&mut local(&stage));
    assert!(output.status.success(), "{output:?}");
    assert!(!has_companions(&libraries) && libraries.contains("libtasuki-fi.so"), "{libraries:?}");
}

#[test]
fn it_gives_way_when_it_is_not_wanted() {
    let stage = Stage::with_front();
    for (name, value) in [("TASUKI_LIBFABRIC", "0"), ("FI_LOG_LEVEL", "warn"), ("FI_HOOK", "trace")] {
        let (output, libraries) = loaded(local(&stage).env(name, value));
        assert!(output.status.success(), "{name}={value}: {output:?}");
        assert!(has_companions(&libraries), "{name}={value}: {libraries:?}");
    }
}

/// What fi_info says with these variables and arguments: with the library in front, and without it.
fn both_say(variables: &[(&str, &str)], words: &[&str]) -> [(Option<i32>, String); 2] {
    let stage = Stage::with_front();
    [stage.command("fi_info"), without_front(&stage)].map(|mut command| {
        let output = command.envs(variables.iter().copied()).args(words).output();
        let output = output.expect("fi_info runs: see scripts/setup");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    })
}

fn without_front(stage: &Stage) -> Command {
    let mut command = stage.command("fi_info");
    command.env_remove("LD_LIBRARY_PATH");
    command
}

#[test]
fn other_providers_are_the_systems() {
    // No provider has the empty name, which fi_info says in both cases.
    for (providers, has_tcp) in [("tcp", true), ("", false), ("^tasuki", true)] {
        for words in [&["-p", "tcp"][..], &["-p", "nonesuch"], &["-p", "tcp", "-v"], &["--version"]] {
            let [front, system] = both_say(&[("FI_PROVIDER", providers)], words);
            assert!(words != ["-p", "tcp"] || (system.0 == Some(0)) == has_tcp, "{providers:?}: {system:?}");
            assert_eq!(front, system, "{providers:?} {words:?}");
        }
    }
}

#[test]
fn what_it_says_of_tasuki_is_what_the_systems_says() {
    for words in [
        &["-p", "tasuki", "-v"][..],
        &["-p", "tcp"],
        &["-p", "^tcp"],
        &["-t", "FI_EP_MSG"],
        &["-c", "FI_ATOMIC"],
    ] {
        let [front, system] = both_say(&[], words);
        assert_eq!(front, system, "{words:?}");
        assert!(!words.contains(&"tasuki") || front.1.contains("FI_EP_RDM"), "{front:?}");
    }
}

#[test]
fn without_a_provider_the_systems_answers() {
    let [front, system] = both_say(&[("FI_PROVIDER_PATH", "/nonexistent")], &[]);
    assert_ne!(system.0, Some(0), "there is no provider called tasuki: {system:?}");
    assert_eq!(front, system);
}

#[test]
fn a_program_linked_with_the_systems_finds_every_function() {
    let front = Stage::with_front();
    let exported = |file: &Path| -> BTreeSet<String> {
        let output = Command::new("nm").args(["-D", "--defined-only"]).arg(file).output().expect("nm runs");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        told.lines()
            .filter_map(|line| line.split(' ').nth(2))
            .filter(|name| name.contains('@'))
            .map(str::to_owned)
            .collect()
    };
    let (_, loaded_from) = Command::new("fi_info").env("LD_TRACE_LOADED_OBJECTS", "1").output().map_or_else(
        |error| panic!("fi_info: {error}"),
        |output| (output.status, String::from_utf8_lossy(&output.stdout).into_owned()),
    );
    let line = loaded_from.lines().find(|line| line.contains("libfabric.so.1 =>")).expect("fi_info needs it");
    let system = line.split_whitespace().nth(2).expect("a path");
    let missing: Vec<_> = exported(Path::new(system))
        .difference(&exported(&front.front().join("libfabric.so.1")))
        .cloned()
        .collect();
    assert!(
        missing.is_empty() && !exported(Path::new(system)).is_empty(),
        "not in the library in front: {missing:?}"
    );
}
