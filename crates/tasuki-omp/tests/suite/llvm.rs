//! Programs of clang, which call another library than gcc's.

use std::process::Command;

use crate::{Program, text};

/// A program of clang. Skipped without LLVM's OpenMP library; with TASUKI_NO_SKIP that is a failure.
fn build(compiler: &str, source: &str, options: &[&str]) -> Option<Program> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut clang = Command::new("clang");
    clang.args(["-fopenmp", "-shared", "-x", "c", "/dev/null", "-o"]).arg(folder.path().join("library.so"));
    if clang.output().is_ok_and(|linked| linked.status.success()) {
        return Some(Program::build_by(compiler, source, options));
    }
    assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "there is no libomp: scripts/setup --tests");
    eprintln!("skipped: there is no clang with libomp");
    None
}

#[test]
fn constructs_of_clang_do_what_the_standard_says() {
    let Some(program) = build("clang", "basics.c", &[]) else { return };
    program.is_good(&[(1, 1), (2, 1), (3, 2)], 29);
}

#[test]
fn constructs_that_few_programs_have_do_so_too() {
    let Some(program) = build("clang", "rare.c", &["-fopenmp-version=51"]) else { return };
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 51);
    let Some(program) = build("clang", "levels.c", &["-fopenmp-version=51"]) else { return };
    program.is_good(&[(1, 1), (3, 1)], 73);
}

/// Regions with many variables, loops at the ends of their types, ranges of tasks, and teams. LLVM 14's own
/// library is no oracle: it loses the last value of some dynamic loops, whose threads go on with iterations
/// of others.
#[test]
fn what_clang_makes_of_loops_tasks_and_teams_is_spread() {
    let Some(program) = build("clang", "llvm.c", &["-fopenmp-version=51"]) else { return };
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 32);
}

/// Calls that newer versions of clang make, or older ones for newer versions of OpenMP.
#[test]
fn what_newer_versions_of_clang_call_is_there() {
    let Some(program) = build("clang", "newer.c", &["-fopenmp-version=51"]) else { return };
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 86);
    let mut all = program.start(2, 1, 89, &["2", "error"]);
    let first = all.remove(0).wait_with_output().expect("ends");
    all.remove(0).wait().expect("ends");
    let told = text(&first);
    assert_eq!((first.status.code(), &*first.stdout), (Some(1), &b""[..]), "{told}");
    assert!(told.contains("the program warns: not well\n"), "{told}");
    assert!(told.contains("the program ends with an error: not at all\n"), "{told}");
    let Some(program) = build("clang", "teams.c", &["-fopenmp-version=51"]) else { return };
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 90);
    let Some(program) = build("clang", "reductions.c", &["-fopenmp-version=51"]) else { return };
    program.is_good(&[(1, 1), (2, 2)], 101);
}

/// As Fortran of LLVM has them: each use of a threadprivate variable is a call.
#[test]
fn threadprivate_variables_need_no_thread_local_storage() {
    let without = ["-fnoopenmp-use-tls"];
    let Some(program) = build("clang++", "private.cpp", &without) else { return };
    program.is_good(&[(1, 1), (3, 1), (2, 2)], 93);
    let Some(program) = build("clang", "basics.c", &without) else { return };
    program.is_good(&[(3, 1), (2, 2)], 96);
}

/// Without optimisation every variable is in memory, and every call is made.
#[test]
fn kernels_of_clang_print_what_they_print_on_one_host() {
    let Some(program) = build("clang", "kernels.c", &["-O0"]) else { return };
    for (at, (processes, threads)) in [(2, 1), (2, 2)].into_iter().enumerate() {
        let all = (processes * threads).to_string();
        let expected = program.alone(processes * threads, &[&all]);
        assert_eq!(program.spread(processes, threads, 35 + at as u8, &[&all])[0], expected);
    }
}

#[test]
fn programs_of_clang_for_cpp_are_spread() {
    let Some(program) = build("clang++", "begins.cpp", &[]) else { return };
    let said = program.spread(2, 1, 76, &[]);
    assert!(said[0].ends_with("handler 44850\ndestructor 9900\n"), "{said:?}");
    let Some(program) = build("clang++", "containers.cpp", &[]) else { return };
    let said = program.spread(2, 2, 37, &[]);
    assert!(said[0].contains(&format!("{} 4 36126944", 4950 * 4)), "{said:?}");
    let Some(program) = build("clang++", "waits.cpp", &["-std=c++17"]) else { return };
    program.is_good(&[(2, 2)], 57);
}

/// A program whose region uses so many variables of the function around it, beside the sum.
fn with_variables(count: u32) -> String {
    let names: Vec<_> = (0..count).map(|at| format!("v{at}")).collect();
    let set: String = names.iter().zip(1..).map(|(name, value)| format!("int {name} = {value};\n")).collect();
    let added: String = names.iter().map(|name| format!("sum += {name};\n")).collect();
    format!(
        "#include <omp.h>\n#include <stdio.h>\nint main(void) {{\nlong sum = 0;\n{set}\
         #pragma omp parallel reduction(+ : sum)\n{{\n{added}}}\n\
         printf(\"%ld\\n\", sum / omp_get_max_threads());\n}}\n"
    )
}

/// Arguments in registers, on the stack in even and odd numbers, and as many as one may have.
#[test]
fn regions_may_use_many_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    for (at, count) in [0, 2, 3, 4, 5, 6, 7, 8, 199, 200].into_iter().enumerate() {
        let source = folder.path().join("variables.c");
        std::fs::write(&source, with_variables(count)).expect("writes");
        let Some(program) = build("clang", source.to_str().expect("text"), &[]) else { return };
        if count < 200 {
            let said = program.spread(2, 2, 38 + at as u8, &[]);
            assert_eq!(said[0], format!("{}\n", count * (count + 1) / 2), "{count} variables");
            continue;
        }
        let mut all = program.start(2, 1, 38 + at as u8, &[]);
        let first = all.remove(0).wait_with_output().expect("ends");
        all.remove(0).wait().expect("ends");
        assert!(!first.status.success() && text(&first).contains("put some into a structure"), "{first:?}");
    }
}
