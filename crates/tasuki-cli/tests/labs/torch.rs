//! PyTorch's backend `tasuki` in labs: collectives of tensors, and a model that is trained in parallel,
//! beside Gloo.

use crate::support::{Background, PYTHON, TestLab, background, ok, skip_without_torch, tasuki};
use std::{
    io::Read,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

/// Runs a program of this test on each host of a lab, with a backend (other arguments may follow in the same
/// text); whether it succeeds and what it prints.
fn outcomes(lab: &TestLab, program: &str, backend: &str, size: usize) -> Vec<(bool, String)> {
    static PORT: AtomicU32 = AtomicU32::new(29500);
    let port = PORT.fetch_add(1, Ordering::Relaxed);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let environment = ok(tasuki().args(["env", "--for", "torch"]));
    let start = |rank: usize| {
        let line = format!(
            "{environment}\nexport MASTER_ADDR=n1 MASTER_PORT={port} RANK={rank} WORLD_SIZE={size} \
             OMP_NUM_THREADS=1\nexec {PYTHON} {} {backend} 2>&1",
            file.display()
        );
        background(&mut lab.exec(&format!("n{}", rank + 1), &["sh", "-c", &line]))
    };
    let ranks: Vec<_> = (0..size).map(start).collect();
    let end = |mut child: Background| {
        let mut said = String::new();
        child.0.stdout.take().expect("a pipe").read_to_string(&mut said).expect("text");
        (child.0.wait().expect("ends").success(), said)
    };
    ranks.into_iter().map(end).collect()
}

/// What each rank of a program prints that must succeed.
fn run(lab: &TestLab, program: &str, backend: &str, size: usize) -> Vec<String> {
    let outcomes = outcomes(lab, program, backend, size).into_iter();
    outcomes.inspect(|(success, said)| assert!(success, "{backend}: {said}")).map(|(_, said)| said).collect()
}

/// The line of a rank's output that begins so, without the beginning.
fn line<'a>(said: &'a str, beginning: &str) -> &'a str {
    said.lines().find_map(|line| line.strip_prefix(beginning)).unwrap_or_else(|| panic!("{said}"))
}

/// On three hosts in a line the outer two reach each other through the middle one.
#[test]
fn tensors_are_reduced_gathered_and_sent() {
    if skip_without_torch("tensors_are_reduced_gathered_and_sent") {
        return;
    }
    let lab = TestLab::up("torch", &["--shape", "mesh:3x1"]);
    for said in run(&lab, "tensors.py", "tasuki", 3) {
        assert_eq!(line(&said, "tensors "), "ok");
    }
}

/// With two ranks there is one order in which gradients can be added, so the weights must be Gloo's, bit by
/// bit.
#[test]
fn a_model_that_is_trained_in_parallel_has_the_weights_that_gloo_gives() {
    if skip_without_torch("a_model_that_is_trained_in_parallel_has_the_weights_that_gloo_gives") {
        return;
    }
    let lab = TestLab::up("train", &["--shape", "full:2"]);
    let weights = |backend| {
        let said = run(&lab, "train.py", backend, 2);
        let of: Vec<_> = said.iter().map(|said| line(said, "weights ").to_owned()).collect();
        assert_eq!(of[0], of[1], "{backend}");
        of[0].clone()
    };
    assert_eq!(weights("tasuki"), weights("gloo"));
}

#[test]
fn a_killed_rank_is_named_to_all_others() {
    if skip_without_torch("a_killed_rank_is_named_to_all_others") {
        return;
    }
    let lab = TestLab::up("bereft", &["--shape", "full:3"]);
    let outcomes = outcomes(&lab, "bereft.py", "tasuki", 3);
    assert!(!outcomes[2].0, "{outcomes:?}");
    for (success, said) in &outcomes[..2] {
        assert!(success, "{said}");
        let told: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("told tasuki: rank ")).collect();
        // A rank may hear first of another that has given up because of the one that was killed.
        assert_eq!(told.len(), 2, "{said}");
        assert_eq!(told[0], told[1], "{said}");
    }
    assert!(outcomes.iter().any(names_the_killed), "{outcomes:?}");
}

fn names_the_killed((_, said): &(bool, String)) -> bool {
    said.contains("told tasuki: rank 2 on host 10.77.0.3: the peer has failed")
}

/// Receives of any rank, which may wait for one that lives: rank 1 has exchanged something with the killed
/// one, rank 0 is alone after that.
#[test]
fn a_receive_of_any_rank_does_not_wait_for_a_killed_one() {
    if skip_without_torch("a_receive_of_any_rank_does_not_wait_for_a_killed_one") {
        return;
    }
    let lab = TestLab::up("bereft-any", &["--shape", "full:3"]);
    let outcomes = outcomes(&lab, "bereft.py", "tasuki any", 3);
    for outcome in &outcomes[..2] {
        let (success, said) = outcome;
        let is_alone = said.contains("told tasuki: no rank is left that could send");
        assert!(*success && (is_alone || names_the_killed(outcome)), "{said}");
    }
    assert!(outcomes.iter().any(names_the_killed), "{outcomes:?}");
}
